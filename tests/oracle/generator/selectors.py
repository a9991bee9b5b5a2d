"""CEL expressions over the attributes and capacities that the generated devices have."""

from collections.abc import Callable
from typing import Final

from tests.oracle.generator.chance import Chance
from tests.oracle.generator.mood import DRIVERS, Ingredient, Mood

FORMS: Final[dict[str, tuple[str, ...]]] = {
    "model": (
        '{0} == "x"',
        '{0} != "y"',
        '{0} in ["x", "z"]',
        '{0}.startsWith("x")',
        '{0}.matches("^[xy]$")',
        "{0}.size() == 1",
        '{0}.contains("y") || {0}.contains("z")',
        '{0}.upperAscii() == "X"',
        '{0} + "!" == "x!"',
        '{0} < "y"',
        '["y", "x"].exists(m, m == {0})',
        '{0}.find("[xy]") == {0}',
        '{0}.split("").size() < 2',
        '"%s-%d".format([{0}, 1]) == "x-1"',
    ),
    "index": (
        "{0} > 1",
        "{0} % 2 == 0",
        "{0} in [0, 2, 4]",
        "{0} * 2 < 6",
        "double({0}) / 2.0 >= 1.0",
        'string({0}) == "1"',
        "-{0} < -1",
        "{0} >= 1.5",
        "[1, 2].max() == {0}",
        "{0} == 3 ? false : {0} < 5",
        "[1, 2, 3].all(i, i != {0})",
    ),
    "fast": ("{0}", "!{0}", "{0} == true", "{0} ? true : false", "{0} || false"),
    "driverVersion": (
        '{0}.isGreaterThan(semver("1.1.0"))',
        '{0}.isLessThan(semver("2.0.0"))',
        '{0}.compareTo(semver("1.2.0")) == 0',
        "{0}.major() >= 2",
        '{0} == semver("1.0.0")',
        '!{0}.isLessThan(semver("v1.2", true))',
    ),
}
"""Tests of an attribute that is there, by its name."""

CAPACITY_FORMS: Final = (
    '{0}.isGreaterThan(quantity("2Gi"))',
    '{0}.isLessThan(quantity("4Gi"))',
    '{0}.compareTo(quantity("1")) >= 0',
    '{0}.add(quantity("1Gi")).compareTo(quantity("3Gi")) > 0',
    '{0}.sub(1).isLessThan(quantity("4Gi"))',
    "{0}.isInteger() && {0}.asInteger() > 1",
    "sign({0}) == 1",
    '{0} == quantity("2Gi")',
    "{0}.asApproximateFloat() > 1.5",
)

LIST_FORMS: Final = (
    '{0}.includes("l1")',
    '"l2" in {0}',
    '{0}.exists(l, l == "l1")',
    "size({0}) > 1",
    'sets.intersects({0}, ["l1", "l3"])',
    '{0}.all(l, l != "l0")',
    '{0}.map(l, l + "x")[0] == "l1x"',
)

ERRING: Final = (
    'device.attributes["a.io"].absent == 1',
    'device.attributes["a.io"].model > 3',
    'device.attributes["none.io"].model == "x"',
    'device.capacity["b.io"].absent.sign() == 1',
    'device.attributes["a.io"].index / 0 == 1',
    'device.attributes["a.io"].model',
    'device.attributes["a.io"].absent == 1 && device.driver == "b.io"',
    'semver(device.attributes["a.io"].model).major() == 1',
    'device.attributes["a.io"].index + 9223372036854775807 > 0',
    '[1, 2][device.attributes["a.io"].index] == 1',
    '[device.attributes["a.io"].index, device.attributes["a.io"].model].exists(v, v > 2)',
)

GENERAL: Final = (
    "true",
    "false",
    'device.driver == "a.io"',
    'device.driver != "a.io"',
    'device.driver.endsWith(".io")',
    "device.allowMultipleAllocations",
    "device.allowMultipleAllocations == false",
    '"std.io" in device.attributes',
    'device.attributes["std.io"].size() > 0',
    'device.attributes["std.io"].?board.orValue("b0") != "b1"',
    'device.attributes["std.io"].?board.hasValue()',
    'has(device.attributes["std.io"].board)',
    'cel.bind(s, device.attributes["std.io"], has(s.board) && s.board == "b0")',
    'device.attributes["std.io"].all(k, k != "other")',
)


JOINTS: Final = ("{0} && {1}", "{0} || {1}", "{0} || {1}", "!{0} || {1}", "{0} ? {1} : true")


def selector(chance: Chance, mood: Mood, driver: str | None) -> str:
    """Draw an expression; `driver` is that of all devices it will see, if that is known."""
    if mood.has(Ingredient.ERRING) and chance.maybe(0.3):
        return chance.pick(ERRING)
    expression = _clause(chance, mood, driver)
    for _ in range(chance.pick((0, 0, 0, 1, 1, 2))):
        joint = chance.pick(JOINTS)
        expression = joint.format(f"({expression})", f"({_clause(chance, mood, driver)})")
    return expression


def _clause(chance: Chance, mood: Mood, driver: str | None) -> str:
    if chance.maybe(0.2):
        return chance.pick(GENERAL)
    domain = driver or chance.pick(DRIVERS)
    if chance.maybe(0.2):
        return _guarded(chance, f'device.capacity["{domain}"]', "mem", CAPACITY_FORMS)
    if mood.has(Ingredient.LISTS) and chance.maybe(0.4):
        return _guarded(chance, f'device.attributes["{domain}"]', "links", LIST_FORMS)
    name = chance.pick(tuple(FORMS))
    inside = f'device.attributes["{domain}"]'
    if driver and not mood.has(Ingredient.MISSING):
        return chance.pick(FORMS[name]).format(f"{inside}.{name}")
    return _guarded(chance, inside, name, FORMS[name])


def _guarded(chance: Chance, inside: str, name: str, forms: tuple[str, ...]) -> str:
    return chance.pick(GUARDS)(inside, name, chance.pick(forms))


GUARDS: Final[tuple[Callable[[str, str, str], str], ...]] = (
    lambda inside, name, form: f"has({inside}.{name}) && ({form.format(f'{inside}.{name}')})",
    lambda inside, name, form: f'"{name}" in {inside} && ({form.format(f"{inside}.{name}")})',
    lambda inside, name, form: f"!has({inside}.{name}) || ({form.format(f'{inside}.{name}')})",
    lambda inside, name, form: f"{inside}.?{name}.optMap(v, {form.format('v')}).orValue(false)",
    lambda inside, name, form: f"{inside}[?'{name}'].optMap(v, {form.format('v')}).orValue(true)",
)
"""Ways to ask for something that may be missing without an error."""
