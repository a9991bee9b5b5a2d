"""Attributes and capacities as nearly all devices have them, read at sight.

A fleet of 40,000 devices has half a million of them, nearly all written in one of a few ways. What
is written in any other way, or wrongly, is left to `decode_slice`, which knows where it stands.
Values that devices have in common are kept once: a fleet repeats a few dozen of them.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from types import MappingProxyType
from typing import Final, NamedTuple

from dra_console.allocator.decoding.reading import LARGEST_INTEGER
from dra_console.allocator.errors import QuantityError
from dra_console.allocator.inventory import AttributeKind, AttributeValue, Capacity, Scalar
from dra_console.allocator.model import Json
from dra_console.allocator.quantity import Quantity, SuffixFamily

VALUES_SHARED: Final = 4_096


class _Usual(NamedTuple):
    """The value of an attribute of one kind."""

    type: type[Scalar]
    shared: Callable[[Scalar], AttributeValue]
    """One cache for each kind, since True equals 1."""


def _shared(kind: AttributeKind) -> Callable[[Scalar], AttributeValue]:
    return lru_cache(maxsize=VALUES_SHARED)(partial(AttributeValue, kind))


_USUAL: Final[Mapping[str, _Usual]] = MappingProxyType(
    {
        kind.value: _Usual(scalar, _shared(kind))
        for kind, scalar in (
            (AttributeKind.INT, int),
            (AttributeKind.BOOL, bool),
            (AttributeKind.STRING, str),
            (AttributeKind.VERSION, str),
        )
    }
)


def shared_attribute(kind: AttributeKind, value: Scalar) -> AttributeValue:
    """Return the value of an attribute, the same object for equal ones as long as it is kept."""
    return _USUAL[kind.value].shared(value)


def usual_attribute(entry: Json) -> AttributeValue | None:
    """Read one value of the type that its key says; nothing if there is anything else to see."""
    if type(entry) is not dict or len(entry) != 1:
        return None
    [(key, value)] = entry.items()
    usual = _USUAL.get(key)
    if usual is None or type(value) is not usual.type:
        return None
    if isinstance(value, str):
        return usual.shared(value) if value.isascii() else None
    return usual.shared(value) if -LARGEST_INTEGER - 1 <= value <= LARGEST_INTEGER else None


def usual_capacity(entry: Json) -> Capacity | None:
    """Read an amount that is a text and has no policy; nothing if there is anything else to see."""
    if type(entry) is dict and len(entry) == 1 and type(text := entry.get("value")) is str:
        return _capacity_of(text)
    return None


def usual_capacities(entries: Json) -> Mapping[str, Capacity] | None:
    """Read all capacities of a device, the same map for devices that have the same amounts."""
    if type(entries) is not dict:
        return None
    amounts = []
    for name, entry in entries.items():
        if (
            type(entry) is not dict
            or len(entry) != 1
            or type(text := entry.get("value")) is not str
        ):
            return None
        amounts.append((name, text))
    return _capacities_of(tuple(amounts))


@lru_cache(maxsize=VALUES_SHARED)
def _capacities_of(amounts: tuple[tuple[str, str], ...]) -> Mapping[str, Capacity] | None:
    found = {}
    for name, text in amounts:
        capacity = _capacity_of(text)
        if capacity is None:
            return None
        found[name] = capacity
    return found


@lru_cache(maxsize=VALUES_SHARED)
def _capacity_of(text: str) -> Capacity | None:
    try:
        amount = Quantity.parse(text.strip(" "))
    except QuantityError:
        return None
    return shared_capacity(amount.nanos, amount.family)


# By family as well, which equal quantities need not share.
@lru_cache(maxsize=VALUES_SHARED)
def shared_capacity(nanos: int, family: SuffixFamily) -> Capacity:
    """Return a capacity without a policy, the same object for equal ones as long as it is kept."""
    return Capacity(Quantity(nanos, family))
