"""The form in which the API server writes an object down again.

It decodes into typed values and encodes those: quantities come out in their canonical form,
and maps and lists without an entry do not come out at all. So what a client reads back need
not be letter for letter what it sent.
"""

from typing import Final

from dra_console.allocator.errors import QuantityError
from dra_console.allocator.model import Json, JsonObject
from dra_console.allocator.quantity import Quantity

QUANTITIES: Final = frozenset(
    {
        "allocatable",
        "capacity",
        "consumedCapacity",
        "counters",
        "hard",
        "limits",
        "requests",
        "used",
    }
)
"""Maps whose values are quantities, or objects with one as `value`."""

OPTIONAL_MAPS: Final = frozenset({*QUANTITIES, "annotations", "attributes", "labels"})
REQUIRED_LISTS: Final = frozenset({"nodeSelectorTerms"})
FREE_FORM: Final = frozenset({"annotations", "data", "labels", "managedFields", "parameters"})
"""Not looked into: whatever the client sent."""


def canonical(obj: JsonObject) -> JsonObject:
    """Return an object, which must be valid, in the form in which it is stored."""
    return {
        key: _canonical(value, key) for key, value in obj.items() if not _is_left_out(key, value)
    }


def _canonical(value: Json, key: str) -> Json:
    if key in FREE_FORM:
        return value
    if isinstance(value, list):
        return [_canonical(each, "") for each in value]
    if not isinstance(value, dict):
        return value
    if key in QUANTITIES:
        return {name: _amount(each) for name, each in value.items()}
    return canonical(value)


def _amount(value: Json) -> Json:
    if isinstance(value, dict):
        amount = value.get("value")
        rest = canonical(value)
        return rest if amount is None else {**rest, "value": _amount(amount)}
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return value
    try:
        return str(Quantity.parse(str(value)))
    except QuantityError:
        return value


def _is_left_out(key: str, value: Json) -> bool:
    if value == []:
        return key not in REQUIRED_LISTS
    return value == {} and key in OPTIONAL_MAPS
