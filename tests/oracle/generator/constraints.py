"""Constraints between the devices of a claim, and attributes derived for them."""

from collections.abc import Sequence
from typing import Final

from dra_console.allocator.api_json import Json, JsonObject, objects_of
from tests.oracle.generator.chance import Chance
from tests.oracle.generator.mood import Ingredient, Mood

ATTRIBUTES: Final = (
    "a.io/model",
    "a.io/numa",
    "a.io/numa",
    "b.io/numa",
    "std.io/board",
    "std.io/board",
    "std.io/board",
    "a.io/index",
    "b.io/index",
    "a.io/driverVersion",
    "a.io/fast",
    "a.io/slot",
    "b.io/slot",
    "a.io/absent",
)
LIST_ATTRIBUTES: Final = ("a.io/links", "b.io/links", "std.io/lanes")
DERIVED_NAMES: Final = ("derived/group", "derived/other", "a.io/model")

EXPRESSIONS: Final = (
    'device.attributes["a.io"].?model.orValue("none")',
    "device.attributes[device.driver].?index.orValue(0) % 2",
    "device.attributes[device.driver].?numa.orValue(7)",
    'device.attributes[device.driver].?driverVersion.orValue(semver("0.1.0"))',
    "device.attributes[device.driver].?fast.orValue(false)",
    'device.driver == "a.io"',
    'device.driver + (device.allowMultipleAllocations ? "/shared" : "/alone")',
    '["x", "y"].map(m, device.attributes["a.io"].?model.orValue(m))',
    'device.driver == "a.io" ? ["x", "y"] : ["y", "z"]',
    "cel.bind(d, device.attributes[device.driver], [d.?index.orValue(1), d.?numa.orValue(0)])",
    'device.attributes["std.io"].?board.orValue("b0")',
    "device.allowMultipleAllocations",
)
ERRING_EXPRESSIONS: Final = (
    'device.attributes["a.io"].absent',
    '[device.attributes["a.io"].?model.orValue("x"), device.attributes["a.io"].?index.orValue(1)]',
    'device.attributes["a.io"].?absent.orValue(1.5)',
    'device.attributes["a.io"].model.filter(m, true)',
    'device.attributes["a.io"].?absent.orValue([])',
)


def constraints(chance: Chance, mood: Mood, requests: Sequence[JsonObject]) -> list[Json]:
    """Draw constraints over all or some requests of a claim."""
    names = _names(requests)
    attributes = ATTRIBUTES + (LIST_ATTRIBUTES * 2 if mood.has(Ingredient.LISTS) else ())
    return [
        _constraint(chance, chance.pick(attributes), names)
        for _ in range(chance.pick((1, 1, 1, 2)))
    ]


def with_derived(chance: Chance, mood: Mood, devices: JsonObject) -> JsonObject:
    """Give some requests a derived attribute and a constraint that refers to it."""
    name = chance.pick(DERIVED_NAMES)
    expression = chance.pick(EXPRESSIONS)
    requests = objects_of(devices["requests"])
    covered = []
    for request in requests:
        if not chance.maybe(0.8):
            continue
        covered.append(str(request["name"]))
        for ask in _asks(request):
            own = chance.pick(EXPRESSIONS) if chance.maybe(0.2) else expression
            if mood.has(Ingredient.ERRING) and chance.maybe(0.3):
                own = chance.pick(ERRING_EXPRESSIONS)
            ask["derivedAttributes"] = [{"name": name, "expression": own}]
    if not covered:
        return devices
    kind = chance.pick(("matchAttribute", "matchAttribute", "distinctAttribute"))
    requests_covered: list[Json] = [] if chance.maybe(0.5) else [*covered]
    constraint: JsonObject = {kind: name}
    if requests_covered:
        constraint["requests"] = requests_covered
    existing = devices.get("constraints")
    others = existing if isinstance(existing, list) else []
    return devices | {"constraints": [*others, constraint]}


def _constraint(chance: Chance, attribute: str, names: Sequence[str]) -> JsonObject:
    kind = "distinctAttribute" if chance.maybe(0.35) else "matchAttribute"
    constraint: JsonObject = {kind: attribute}
    if chance.maybe(0.5):
        covered: list[Json] = [*chance.some(names, least=1, most=4)]
        constraint["requests"] = covered
    return constraint


def _names(requests: Sequence[JsonObject]) -> list[str]:
    names = []
    for request in requests:
        names.append(str(request["name"]))
        alternatives = objects_of(request.get("firstAvailable"))
        names += [f"{request['name']}/{each['name']}" for each in alternatives]
    return names


def _asks(request: JsonObject) -> list[JsonObject]:
    exactly = request.get("exactly")
    return [exactly] if isinstance(exactly, dict) else objects_of(request.get("firstAvailable"))
