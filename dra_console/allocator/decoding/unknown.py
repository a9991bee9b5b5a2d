"""Fields that a newer API has and this release does not know.

A server leaves out what it does not know, so such a field comes from a newer one. It may narrow
or widen what is meant, and to go on as if it were not there would be a guess: claims and classes
with one are refused, slices with one are told of.
"""

from collections.abc import Iterator
from typing import Final

from dra_console.allocator.api_json import Json
from dra_console.allocator.decoding.reading import Fields

DEVICES: Final = frozenset({"requests", "constraints", "config"})
REQUEST: Final = frozenset({"name", "exactly", "firstAvailable"})
SUBREQUEST: Final = frozenset(
    {
        *("name", "deviceClassName", "selectors", "allocationMode", "count", "tolerations"),
        *("capacity", "derivedAttributes"),
    }
)
EXACTLY: Final = SUBREQUEST - {"name"} | {"adminAccess"}
CONSTRAINT: Final = frozenset({"requests", "matchAttribute", "distinctAttribute"})
TOLERATION: Final = frozenset({"key", "operator", "value", "effect", "tolerationSeconds"})
DERIVED: Final = frozenset({"name", "expression"})
CLASS: Final = frozenset({"selectors", "config", "extendedResourceName", "suitableNodes"})
"""`suitableNodes` was of classic allocation alone, which is gone."""

SLICE: Final = frozenset(
    {
        *("driver", "pool", "nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection"),
        *("devices", "sharedCounters", "partitionTypeAttribute", "skipNodeOperations"),
    }
)
DEVICE: Final = frozenset(
    {
        *("name", "attributes", "capacity", "consumesCounters", "taints", "bindsToNode"),
        *("nodeName", "nodeSelector", "allNodes", "bindingConditions"),
        *("bindingFailureConditions", "allowMultipleAllocations"),
        *("nodeAllocatableResources", "nodeAllocatableResourceMappings"),
    }
)
CONSUMPTION: Final = frozenset({"counterSet", "counters", "compatibilityGroups"})
POLICY: Final = frozenset({"default", "validValues", "validRange"})
RANGE: Final = frozenset({"min", "max", "step"})


def unknown_in_claim(spec: Fields) -> Iterator[str]:
    """List the paths of unknown fields in the spec of a claim, in v1 shape."""
    yield from _others(spec, frozenset({"devices"}))
    devices = spec.child("devices")
    if devices is None:
        return
    yield from _others(devices, DEVICES)
    for request in devices.children("requests"):
        yield from _others(request, REQUEST)
        exactly = request.child("exactly")
        if exactly is not None:
            yield from _in_wish(exactly, EXACTLY)
        for alternative in request.children("firstAvailable"):
            yield from _in_wish(alternative, SUBREQUEST)
    for constraint in devices.children("constraints"):
        yield from _others(constraint, CONSTRAINT)


def unknown_in_class(spec: Fields) -> Iterator[str]:
    """List the paths of unknown fields in the spec of a class."""
    yield from _others(spec, CLASS)
    for selector in spec.children("selectors"):
        yield from _in_selector(selector)


def unknown_in_slice(spec: Fields) -> Iterator[str]:
    """List the paths of unknown fields in the spec of a slice, in v1 shape.

    Attributes of an unknown kind are not among them: they have a kind of their own.
    """
    yield from _others(spec, SLICE)
    devices = spec.raw.get("devices")
    if isinstance(devices, list) and all(map(_is_plain, devices)):
        return
    for device in spec.children("devices"):
        yield from _others(device, DEVICE)
        for consumption in device.children("consumesCounters"):
            yield from _others(consumption, CONSUMPTION)
        for _, capacity in device.named("capacity"):
            policy = capacity.child("requestPolicy")
            if policy is not None:
                yield from _others(policy, POLICY)
                valid = policy.child("validRange")
                yield from () if valid is None else _others(valid, RANGE)


def _is_plain(device: Json) -> bool:
    """Tell at a glance that a device has known fields only; fleets are made of such devices."""
    if not isinstance(device, dict) or not device.keys() <= DEVICE:
        return False
    consumed, capacity = device.get("consumesCounters"), device.get("capacity")
    if isinstance(consumed, list):
        for entry in consumed:
            if not isinstance(entry, dict) or not entry.keys() <= CONSUMPTION:
                return False
    if isinstance(capacity, dict):
        for amount in capacity.values():
            if isinstance(amount, dict) and "requestPolicy" in amount:
                return False
    return True


def _in_wish(wish: Fields, known: frozenset[str]) -> Iterator[str]:
    yield from _others(wish, known)
    for selector in wish.children("selectors"):
        yield from _in_selector(selector)
    for toleration in wish.children("tolerations"):
        yield from _others(toleration, TOLERATION)
    for derived in wish.children("derivedAttributes"):
        yield from _others(derived, DERIVED)
    capacity = wish.child("capacity")
    if capacity is not None:
        yield from _others(capacity, frozenset({"requests"}))


def _in_selector(selector: Fields) -> Iterator[str]:
    """Look beside an expression; a selector of another type is refused as it is."""
    cel = selector.child("cel")
    if cel is not None:
        yield from _others(selector, frozenset({"cel"}))
        yield from _others(cel, frozenset({"expression"}))


def _others(fields: Fields, known: frozenset[str]) -> Iterator[str]:
    if fields.raw.keys() <= known:
        return
    for name in fields.raw:
        if name not in known and fields.has(name):
            yield fields.path_of(name)
