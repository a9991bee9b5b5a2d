"""CEL expressions over the attributes and capacities that the generated devices have."""

from typing import Final

from tests.oracle.generator.chance import Chance
from tests.oracle.generator.mood import DRIVERS, Ingredient, Mood

FORMS: Final[dict[str, tuple[str, ...]]] = {
    "model": (
        '{0} == "x"',
        '{0} != "y"',
        '{0} in ["x", "z"]',
        '{0}.startsWith("x")',
        "{0}.size() == 1",
        '{0} < "y"',
        '["y", "x"].exists(m, m == {0})',
    ),
    "index": (
        "{0} > 1",
        "{0} % 2 == 0",
        "{0} in [0, 2, 4]",
        "{0} * 2 < 6",
        "double({0}) / 2.0 >= 1.0",
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
        '!{0}.isLessThan(semver("v1.2", true))',
    ),
}
"""Tests of an attribute that is there, by its name."""

SIZED_FORMS: Final[dict[str, tuple[str, ...]]] = {
    "model": (
        '{0}.matches("^[xy]$")',
        '{0}.contains("y") || {0}.contains("z")',
        '{0}.upperAscii() == "X"',
        '{0} + "!" == "x!"',
        '{0}.find("[xy]") == {0}',
        '{0}.split("").size() < 2',
        '"%d".format([{0}.size()]) == "1"',
        '{0}.replace("x", "y").indexOf("y") == 0',
    ),
    "index": ('string({0}) == "1"', '"%d".format([int({0})]) != "2"'),
    "driverVersion": ('{0} == semver("1.0.0")', '{0} != semver("1.2.0+b")'),
}
"""Tests that cost by the size of a value. The API server knows it of an attribute by its path
only, and refuses them as too costly behind an optional."""

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
    "size({0}) > 1",
    '{0} != "l1"',
)
SIZED_LIST_FORMS: Final = (
    '{0}.includes("l1")',
    '{0}.exists(l, l == "l1")',
    '{0}.all(l, l != "l0")',
    '"l2" in {0}',
    'sets.intersects({0}, ["l1", "l3"])',
    '{0}.map(l, l == "l1")[0]',
    '{0}.filter(l, l != "l0").size() > 0',
)

ERRING: Final = (
    'device.attributes["a.io"].absent == 1',
    'device.attributes["a.io"].model > 3',
    'device.attributes["none.io"].model == "x"',
    'sign(device.capacity["b.io"].absent) == 1',
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
    inside = f'device.attributes["{domain}"]'
    if mood.has(Ingredient.LISTS) and chance.maybe(0.4):
        return _guarded(chance, inside, "links", LIST_FORMS, SIZED_LIST_FORMS)
    name = chance.pick(tuple(FORMS))
    sized = SIZED_FORMS.get(name, ())
    if driver and not mood.has(Ingredient.MISSING):
        return chance.pick(FORMS[name] + sized).format(f"{inside}.{name}")
    return _guarded(chance, inside, name, FORMS[name], sized)


def _guarded(
    chance: Chance, inside: str, name: str, forms: tuple[str, ...], sized: tuple[str, ...] = ()
) -> str:
    """Ask for something that may be missing without an error."""
    path = f"{inside}.{name}"
    form = chance.pick(forms + sized)
    if form in forms and chance.maybe(0.4):
        found = f"{inside}.?{name}" if chance.maybe(0.5) else f"{inside}[?'{name}']"
        default = chance.pick(("true", "false"))
        return f"{found}.optMap(v, {form.format('v')}).orValue({default})"
    match chance.pick(("has", "in", "not has")):
        case "has":
            return f"has({path}) && ({form.format(path)})"
        case "in":
            return f'"{name}" in {inside} && ({form.format(path)})'
        case _:
            return f"!has({path}) || ({form.format(path)})"
