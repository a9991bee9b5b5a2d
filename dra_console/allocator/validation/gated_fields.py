"""Fields that the API server drops without a word while their feature gate is off.

It keeps them in an update if the stored object uses the feature already. What is dropped may
have narrowed or widened what was asked for, so forms name it (`refusals`) and the dev cluster
drops it as a real server does.

Source: `dropDisabledFields` of each kind's strategy in release 1.37.
"""

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from types import MappingProxyType
from typing import Final

from dra_console.allocator.api_json import Json, JsonObject
from dra_console.allocator.rules import Feature, Rules

LISTS: Final = ("ints", "bools", "strings", "versions")
WISHES: Final = ("devices.requests[].exactly", "devices.requests[].firstAvailable[]")
CLAIM_SPEC: Final[Mapping[Feature, tuple[str, ...]]] = {
    Feature.PRIORITIZED_LIST: ("devices.requests[].firstAvailable",),
    Feature.DEVICE_TAINTS: tuple(f"{wish}.tolerations" for wish in WISHES),
    Feature.ADMIN_ACCESS: ("devices.requests[].exactly.adminAccess",),
    Feature.CONSUMABLE_CAPACITY: (
        "devices.constraints[].distinctAttribute",
        *(f"{wish}.capacity" for wish in WISHES),
    ),
    Feature.DERIVED_ATTRIBUTES: tuple(f"{wish}.derivedAttributes" for wish in WISHES),
}
SLICE_SPEC: Final[Mapping[Feature, tuple[str, ...]]] = {
    Feature.DEVICE_TAINTS: ("devices[].taints",),
    Feature.PARTITIONABLE_DEVICES: (
        "sharedCounters",
        "perDeviceNodeSelection",
        "devices[].consumesCounters",
        "devices[].nodeName",
        "devices[].nodeSelector",
        "devices[].allNodes",
    ),
    Feature.BINDING_CONDITIONS: (
        "devices[].bindingConditions",
        "devices[].bindingFailureConditions",
        "devices[].bindsToNode",
    ),
    Feature.CONSUMABLE_CAPACITY: (
        "devices[].allowMultipleAllocations",
        "devices[].capacity{}.requestPolicy",
    ),
    Feature.COMPATIBILITY_GROUPS: ("devices[].consumesCounters[].compatibilityGroups",),
    Feature.NODE_ALLOCATABLE_RESOURCES: ("devices[].nodeAllocatableResources",),
    Feature.LIST_TYPE_ATTRIBUTES: tuple(f"devices[].attributes{{}}.{kind}" for kind in LISTS),
    Feature.PARTITIONABLE_DEVICES_TYPE: ("partitionTypeAttribute",),
    Feature.OPTIONAL_NODE_OPERATIONS: ("skipNodeOperations",),
}
RESULT: Final = "allocation.devices.results[]"
CLAIM_STATUS: Final[Mapping[Feature, tuple[str, ...]]] = {
    Feature.ADMIN_ACCESS: (f"{RESULT}.adminAccess",),
    Feature.CONSUMABLE_CAPACITY: (
        f"{RESULT}.shareID",
        f"{RESULT}.consumedCapacity",
        "devices[].shareID",
    ),
    Feature.BINDING_CONDITIONS: (
        f"{RESULT}.bindingConditions",
        f"{RESULT}.bindingFailureConditions",
    ),
    Feature.OPTIONAL_NODE_OPERATIONS: (f"{RESULT}.skipNodeOperations",),
}
GATED: Final[Mapping[str, Mapping[str, Mapping[Feature, tuple[str, ...]]]]] = MappingProxyType(
    {
        "ResourceClaim": {"spec": CLAIM_SPEC, "status": CLAIM_STATUS},
        "ResourceClaimTemplate": {"spec.spec": CLAIM_SPEC},
        "ResourceSlice": {"spec": SLICE_SPEC},
    }
)


def drop_disabled(
    kind: str, obj: JsonObject, *, stored: JsonObject | None, rules: Rules
) -> tuple[JsonObject, dict[str, Feature]]:
    """Return the object (v1 shape) as a server with these gates stores it.

    Also returned is the path of every field that was dropped, with the gate that it needs.
    """
    dropped: dict[str, Feature] = {}
    kept = obj
    for part, gates in GATED.get(kind, {}).items():
        for feature, patterns in gates.items():
            paths = [f"{part}.{pattern}" for pattern in patterns]
            if rules.has(feature) or (stored is not None and _uses(stored, paths)):
                continue
            if not _uses(kept, paths):
                continue
            if kept is obj:
                kept = deepcopy(obj)
            for path in paths:
                for owner, field, where in list(_found(kept, path.split("."), "")):
                    del owner[field]
                    dropped[where] = feature
    return kept, dropped


def _uses(obj: JsonObject, paths: Sequence[str]) -> bool:
    return any(True for path in paths for _ in _found(obj, path.split("."), ""))


def _found(value: Json, steps: Sequence[str], path: str) -> Iterator[tuple[JsonObject, str, str]]:
    """Walk to every field that a pattern names: its object, its name, and its path."""
    if not isinstance(value, dict):
        return
    field = steps[0].removesuffix("[]").removesuffix("{}")
    inside = value.get(field)
    where = f"{path}.{field}" if path else field
    if len(steps) == 1:
        if inside is not None:
            yield value, field, where
    elif steps[0].endswith("[]"):
        for index, entry in enumerate(inside if isinstance(inside, list) else ()):
            yield from _found(entry, steps[1:], f"{where}[{index}]")
    elif steps[0].endswith("{}"):
        for name, entry in (inside if isinstance(inside, dict) else {}).items():
            yield from _found(entry, steps[1:], f"{where}[{name}]")
    else:
        yield from _found(inside, steps[1:], where)
