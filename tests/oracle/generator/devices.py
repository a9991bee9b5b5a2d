"""Devices as drivers publish them: attributes, capacity, counters, taints, conditions.

Values come from small sets, so that devices resemble each other and constraints, selectors
and counters meet devices that differ in one thing only.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from dra_console.allocator.api_json import Json, JsonObject
from tests.oracle.generator.amounts import capacity
from tests.oracle.generator.chance import Chance
from tests.oracle.generator.mood import DRIVERS, Ingredient, Mood
from tests.oracle.generator.nodes import device_reach

EFFECTS: Final = ("NoSchedule", "NoExecute", "None")
TAINT_KEYS: Final = ("example.com/broken", "example.com/slow")
GROUPS: Final = ("g0", "g1", "g2")
LINKS: Final = ("l0", "l1", "l2", "l3")


@dataclass(frozen=True, slots=True)
class Home:
    """The pool that a device is published in."""

    driver: str
    counter_sets: Sequence[JsonObject] = ()
    nodes: Sequence[str] = ()
    """For per-device node selection; empty where the slice decides."""


def device(chance: Chance, mood: Mood, home: Home, name: str) -> JsonObject:
    """Draw one device."""
    is_shareable = mood.has(Ingredient.SHARES) and chance.maybe(0.6)
    drawn: JsonObject = {"name": name, "attributes": _attributes(chance, mood, home.driver)}
    if is_shareable:
        drawn["allowMultipleAllocations"] = True
    elif mood.has(Ingredient.SHARES) and chance.maybe(0.1):
        drawn["allowMultipleAllocations"] = False
    if kinds := chance.some(("mem", "cores"), least=0 if mood.has(Ingredient.MISSING) else 1):
        drawn["capacity"] = {
            f"{home.driver}/{kind}" if chance.maybe(0.05) else kind: capacity(
                chance, kind, is_shareable=is_shareable
            )
            for kind in kinds
        }
    if home.counter_sets and chance.maybe(0.8):
        drawn["consumesCounters"] = _consumption(chance, mood, home.counter_sets)
    if home.nodes:
        drawn |= device_reach(chance, home.nodes)
    if mood.has(Ingredient.TAINTS) and chance.maybe(0.35):
        drawn["taints"] = [taint(chance) for _ in range(chance.pick((1, 1, 2)))]
    if mood.has(Ingredient.BINDING):
        drawn |= _binding(chance)
    return drawn


def taint(chance: Chance) -> JsonObject:
    """Draw a taint; its value is missing now and then."""
    drawn: JsonObject = {"key": chance.pick(TAINT_KEYS), "effect": chance.pick(EFFECTS)}
    if chance.maybe(0.6):
        drawn["value"] = chance.pick(("very", "somewhat"))
    return drawn


def _attributes(chance: Chance, mood: Mood, driver: str) -> JsonObject:
    attributes: JsonObject = {
        "model": {"string": chance.pick(("x", "x", "y", "z"))},
        "index": {"int": chance.between(0, 4)},
        "fast": {"bool": chance.maybe(0.5)},
        "driverVersion": {"version": chance.pick(("1.0.0", "1.2.0", "1.2.0+b", "2.0.0-rc.1"))},
        chance.pick(("numa", "numa", f"{driver}/numa")): {"int": chance.between(0, 1)},
        "std.io/board": _board(chance, driver),
    }
    if chance.maybe(0.05):
        other = DRIVERS[driver == DRIVERS[0]]
        attributes[f"{other}/index"] = {"int": chance.between(0, 4)}
    # Selectors never read this one: of two names for it CEL sees either, by chance.
    for name in chance.pick((("slot",), (f"{driver}/slot",), ("slot", f"{driver}/slot"))):
        attributes[name] = {"int": chance.between(0, 1)}
    if mood.has(Ingredient.LISTS):
        attributes |= {"links": _links(chance), "std.io/lanes": _lanes(chance)}
    if not mood.has(Ingredient.MISSING):
        return attributes
    return {name: value for name, value in attributes.items() if not chance.maybe(0.25)}


def _board(chance: Chance, driver: str) -> JsonObject:
    """Draw an attribute that two drivers share, not always of the same type."""
    if driver == "b.io" and chance.maybe(0.1):
        return {"int": 0}
    return {"string": chance.pick(("b0", "b0", "b1"))}


def _links(chance: Chance) -> JsonObject:
    if chance.maybe(0.3):
        return {"string": chance.pick(LINKS)}
    links: list[Json] = [*chance.some(LINKS, least=1, most=3)]
    return {"strings": links}


def _lanes(chance: Chance) -> JsonObject:
    """Draw lists of the other types; constraints compare only what has the same type."""
    options: JsonObject = {
        "ints": [*chance.some((0, 1, 2), least=1)],
        "bools": [*chance.some((True, False), least=1)],
        "versions": [*chance.some(("1.0.0", "1.1.0", "1.1.0+b"), least=1)],
        "int": chance.between(0, 2),
    }
    kind = chance.pick(("ints", "ints", "ints", "int", "bools", "versions"))
    return {kind: options[kind]}


def _consumption(chance: Chance, mood: Mood, counter_sets: Sequence[JsonObject]) -> list[Json]:
    consumed: list[Json] = []
    for counter_set in chance.some(counter_sets, least=1, most=2 if chance.maybe(0.3) else 1):
        counters = counter_set["counters"]
        assert isinstance(counters, dict)
        entry: JsonObject = {
            "counterSet": counter_set["name"],
            "counters": {
                name: {"value": chance.pick(("0", "1", "1", "2", "2", "3", "4", "500m"))}
                for name in chance.some(tuple(counters), least=1)
            },
        }
        if mood.has(Ingredient.GROUPS) and chance.maybe(0.6):
            groups: list[Json] = [*chance.some(GROUPS, least=1, most=2)]
            entry["compatibilityGroups"] = groups
        consumed.append(entry)
    return consumed


def _binding(chance: Chance) -> JsonObject:
    drawn: JsonObject = {}
    if chance.maybe(0.2):
        drawn["bindsToNode"] = True
    if chance.maybe(0.35):
        drawn["bindingConditions"] = ["example.com/attached"]
        drawn["bindingFailureConditions"] = ["example.com/failed"]
    return drawn
