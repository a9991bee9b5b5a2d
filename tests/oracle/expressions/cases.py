"""Cases: an expression, the dialect it is held to, and devices to try it on."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from dra_console.allocator.api_json import Json, JsonObject
from dra_console.allocator.cel.checking import STORED, Dialect
from dra_console.allocator.rules import Feature
from tests.oracle.expressions.templates import (
    AMOUNTS,
    DRIVER,
    NAMES,
    OTHER_DOMAIN,
    TEXTS,
    VERSIONS,
)
from tests.oracle.expressions.writing import expression
from tests.oracle.generator.chance import Chance

FEATURES: Final = (Feature.CONSUMABLE_CAPACITY, Feature.LIST_TYPE_ATTRIBUTES)
DEPTHS: Final = (1, 2, 2, 3, 3, 4)
INTS: Final = (0, 1, 2, 40, -3)


@dataclass(frozen=True, slots=True)
class Case:
    """What both sides are asked."""

    name: str
    expression: str
    is_new: bool
    features: frozenset[Feature]
    devices: tuple[JsonObject, ...]

    @property
    def dialect(self) -> Dialect:
        """How our side compiles it."""
        return Dialect.of_new(self.features) if self.is_new else STORED

    def question(self) -> JsonObject:
        """What the oracle is asked."""
        return {
            "expression": self.expression,
            "isNew": self.is_new,
            "features": [str(each) for each in sorted(self.features)],
            "driver": DRIVER,
            "devices": list(self.devices),
        }


def case(seed: int, number: int) -> Case:
    """Make a case; equal seeds and numbers make equal cases."""
    chance = Chance(f"{seed}-{number}")
    return Case(
        name=f"{seed}-{number}",
        expression=expression(chance, chance.pick(DEPTHS)),
        is_new=chance.maybe(0.5),
        features=frozenset(each for each in FEATURES if chance.maybe(0.6)),
        devices=tuple(_device(chance, index) for index in range(chance.between(1, 4))),
    )


def _device(chance: Chance, index: int) -> JsonObject:
    attributes: dict[str, Json] = {}
    for name in NAMES:
        if chance.maybe(0.3):
            continue
        kind = name if chance.maybe(0.85) else chance.pick(NAMES)
        qualified = f"{OTHER_DOMAIN}/{name}" if chance.maybe(0.3) else name
        attributes[qualified] = VALUES[kind](chance)
    capacity: dict[str, Json] = {
        name: {"value": chance.pick(AMOUNTS)} for name in ("memory", "cores") if chance.maybe(0.8)
    }
    device: JsonObject = {
        "name": f"device-{index}",
        "attributes": attributes,
        "capacity": capacity,
    }
    if chance.maybe(0.4):
        device["allowMultipleAllocations"] = chance.maybe(0.5)
    return device


def _several(chance: Chance, options: tuple[Json, ...]) -> list[Json]:
    return [chance.pick(options) for _ in range(chance.between(1, 4))]


VALUES: Final[Mapping[str, Callable[[Chance], JsonObject]]] = {
    "model": lambda chance: {"string": chance.pick(TEXTS)},
    "count": lambda chance: {"int": chance.pick(INTS)},
    "healthy": lambda chance: {"bool": chance.maybe(0.5)},
    "version": lambda chance: {"version": chance.pick(VERSIONS)},
    "names": lambda chance: {"strings": _several(chance, TEXTS)},
    "numbers": lambda chance: {"ints": _several(chance, INTS)},
    "flags": lambda chance: {"bools": _several(chance, (True, False))},
    "versions": lambda chance: {"versions": _several(chance, VERSIONS)},
}
