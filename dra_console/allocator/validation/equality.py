"""When two values of an API type are the same to the server.

It compares what it stores, not how that was written: empty lists and maps equal absent ones,
`1Gi` equals `1024Mi`, and the empty text, 0 and false equal an absent field, except where the type
tells them apart.
"""

from typing import Final

from dra_console.allocator.api_json import Json, JsonObject
from dra_console.allocator.decoding.reading import quantity_at
from dra_console.allocator.errors import DecodeError
from dra_console.allocator.quantity import Quantity
from dra_console.allocator.validation.shapes import Leaf, ListOf, MapOf, ObjectOf, Shape

TELL_ABSENT: Final = frozenset(
    {
        *("adminAccess", "allNodes", "allowMultipleAllocations", "bindsToNode"),
        *("perDeviceNodeSelection", "nodeName", "matchAttribute", "distinctAttribute"),
        *("int", "bool", "string", "version", "tolerationSeconds", "shareID"),
        *("exactly", "capacity", "nodeSelector", "cel", "opaque", "requestPolicy", "validRange"),
        *("deviceSelector", "driver", "pool", "device", "extendedResourceName", "networkData"),
        *("default", "min", "max", "step", "perPod", "perContainer"),
        *("capacityMultiplier", "deviceMultiplier"),
    }
)
"""Fields that are pointers in the API's types, so that their zero is not absence."""

ABSENT: Final[tuple[object, ...]] = (None, "", 0, False, [], {}, Quantity(0))


def is_equal(left: Json, right: Json, shape: Shape) -> bool:
    """Compare two values of one shape."""
    return (_canonical(left, shape) or None) == (_canonical(right, shape) or None)


def _canonical(value: Json, shape: Shape) -> object:
    match shape:
        case Leaf.QUANTITY:
            return _quantity(value)
        case ListOf(entry) if isinstance(value, list):
            return [_canonical(each, entry) for each in value]
        case MapOf(entry) if isinstance(value, dict):
            return {name: _canonical(each, entry) for name, each in value.items()}
        case ObjectOf() if isinstance(value, dict):
            return _canonical_object(value, shape)
        case ListOf() | MapOf():
            return None
        case _:
            return value


def _quantity(value: Json) -> object:
    try:
        return quantity_at("", 0 if value is None else value)
    except DecodeError:
        return value


def _canonical_object(value: JsonObject, shape: ObjectOf) -> dict[str, object]:
    fields: dict[str, object] = {}
    for name, inside in shape.fields.items():
        found = _canonical(value.get(name), inside)
        if name in TELL_ABSENT and not isinstance(inside, ListOf | MapOf):
            is_absent = value.get(name) is None
        else:
            is_absent = found in ABSENT
        if not is_absent:
            fields[name] = found
    return fields
