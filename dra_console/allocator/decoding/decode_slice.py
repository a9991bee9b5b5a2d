"""ResourceSlices to values; the part of `decode` that reads what drivers publish."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from sys import intern
from types import MappingProxyType
from typing import Final

from dra_console.allocator.decoding.reading import (
    Fields,
    boolean_at,
    integer_at,
    text_at,
)
from dra_console.allocator.decoding.unknown import unknown_in_slice
from dra_console.allocator.decoding.usual import (
    VALUES_SHARED,
    shared_attribute,
    shared_capacity,
    usual_attribute,
    usual_capacities,
    usual_capacity,
)
from dra_console.allocator.decoding.versions import check_version, slice_spec_as_v1, version_of
from dra_console.allocator.inventory import (
    AttributeKind,
    AttributeValue,
    Capacity,
    CounterSet,
    Device,
    NodeReach,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    RequestPolicy,
    ResourceSlice,
    Scalar,
    Taint,
    ValidRange,
)
from dra_console.allocator.model import Json, JsonObject
from dra_console.allocator.quantity import Quantity

UNKNOWN_VALUE: Final = AttributeValue(AttributeKind.UNKNOWN, None)
ZERO: Final = Quantity(0)
SCALARS: Final[Mapping[AttributeKind, Callable[[str, Json], Scalar]]] = MappingProxyType(
    {
        AttributeKind.INT: integer_at,
        AttributeKind.BOOL: boolean_at,
        AttributeKind.STRING: text_at,
        AttributeKind.VERSION: text_at,
    }
)
LISTS: Final[Mapping[AttributeKind, Callable[[str, Json], Scalar]]] = MappingProxyType(
    {
        AttributeKind.INTS: integer_at,
        AttributeKind.BOOLS: boolean_at,
        AttributeKind.STRINGS: text_at,
        AttributeKind.VERSIONS: text_at,
    }
)
NULL: Final[Mapping[AttributeKind, Json]] = MappingProxyType(
    {
        AttributeKind.INTS: 0,
        AttributeKind.BOOLS: False,
        AttributeKind.STRINGS: "",
        AttributeKind.VERSIONS: "",
    }
)
"""What `null` means among the values of a list."""

REACH_FIELDS: Final = ("nodeName", "nodeSelector", "allNodes")


def decode_slice(obj: JsonObject) -> ResourceSlice:
    """Read a ResourceSlice."""
    check_version(obj)
    metadata = Fields.at("", obj).child("metadata") or Fields("metadata", {})
    lifted = slice_spec_as_v1(obj.get("spec") or {}, path="spec", api_version=version_of(obj))
    spec = Fields.at("spec", lifted)
    pool = spec.child("pool") or Fields("spec.pool", {})
    return ResourceSlice(
        name=metadata.text("name"),
        driver=intern(spec.text("driver")),
        pool=intern(pool.text("name")),
        generation=pool.integer("generation") or 0,
        resource_slice_count=pool.integer("resourceSliceCount") or 0,
        reach=_reach(spec),
        per_device_node_selection=spec.boolean("perDeviceNodeSelection") or False,
        devices=tuple(_device(entry) for entry in spec.children("devices")),
        shared_counters=tuple(
            _counters(entry, name=entry.text("name")) for entry in spec.children("sharedCounters")
        ),
        skip_node_operations=spec.texts("skipNodeOperations"),
        unknown_fields=tuple(unknown_in_slice(spec)),
    )


def node_selector(fields: Fields) -> NodeSelector:
    """Read a core NodeSelector."""
    return _shared_selector(
        NodeSelector(
            terms=tuple(
                NodeSelectorTerm(
                    match_expressions=tuple(
                        _requirement(entry) for entry in term.children("matchExpressions")
                    ),
                    match_fields=tuple(
                        _requirement(entry) for entry in term.children("matchFields")
                    ),
                )
                for term in fields.children("nodeSelectorTerms")
            )
        )
    )


@lru_cache(maxsize=VALUES_SHARED)
def _shared_selector(selector: NodeSelector) -> NodeSelector:
    """Return the selector of those that are equal that was read first."""
    return selector


def taint(fields: Fields) -> Taint:
    """Read a DeviceTaint."""
    return Taint(
        key=fields.text("key"),
        value=fields.text("value"),
        effect=fields.text("effect"),
        time_added=fields.optional_text("timeAdded"),
    )


def _requirement(fields: Fields) -> NodeSelectorRequirement:
    return NodeSelectorRequirement(
        key=fields.text("key"), operator=fields.text("operator"), values=fields.texts("values")
    )


def _reach(fields: Fields) -> NodeReach:
    selector = fields.child("nodeSelector")
    return NodeReach(
        node_name=fields.text("nodeName") or None,
        node_selector=None if selector is None else node_selector(selector),
        all_nodes=fields.boolean("allNodes") or False,
    )


def _device(fields: Fields) -> Device:
    return Device(
        name=intern(fields.text("name")),
        attributes=fields.read_map("attributes", _attribute, at_sight=usual_attribute),
        capacity=usual_capacities(fields.raw.get("capacity"))
        or fields.read_map("capacity", _capacity, at_sight=usual_capacity),
        consumes_counters=tuple(
            _counters(entry, name=entry.text("counterSet"))
            for entry in fields.children("consumesCounters")
        )
        if fields.has("consumesCounters")
        else (),
        taints=tuple(taint(entry) for entry in fields.children("taints"))
        if fields.has("taints")
        else (),
        reach=_reach(fields) if any(fields.has(name) for name in REACH_FIELDS) else None,
        binds_to_node=fields.boolean("bindsToNode") or False,
        binding_conditions=fields.texts("bindingConditions"),
        binding_failure_conditions=fields.texts("bindingFailureConditions"),
        allow_multiple_allocations=fields.boolean("allowMultipleAllocations") or False,
    )


def _attribute(fields: Fields) -> AttributeValue:
    """Read the first value that is set; an entry without any is kept as unknown."""
    for kind, value_at in SCALARS.items():
        if fields.has(kind.value):
            path = fields.path_of(kind.value)
            return shared_attribute(kind, value_at(path, fields.raw[kind.value]))
    for kind, value_at in LISTS.items():
        if fields.has(kind.value):
            entries = tuple(
                value_at(path, NULL[kind] if entry is None else entry)
                for path, entry in fields.items(kind.value)
            )
            return AttributeValue(kind, entries)
    return UNKNOWN_VALUE


def _capacity(fields: Fields) -> Capacity:
    policy = fields.child("requestPolicy")
    value = fields.quantity("value") or ZERO
    if policy is None:
        return shared_capacity(value.nanos, value.family)
    return Capacity(value, _policy(policy))


def _policy(fields: Fields) -> RequestPolicy:
    valid_range = fields.child("validRange")
    return RequestPolicy(
        default=fields.quantity("default"),
        valid_values=fields.quantities("validValues"),
        valid_range=None
        if valid_range is None
        else ValidRange(
            minimum=valid_range.quantity("min") or ZERO,
            maximum=valid_range.quantity("max"),
            step=valid_range.quantity("step"),
        ),
    )


def _counters(fields: Fields, *, name: str) -> CounterSet:
    return CounterSet(
        name=name,
        counters={
            counter: entry.quantity("value") or ZERO for counter, entry in fields.named("counters")
        },
        compatibility_groups=fields.texts("compatibilityGroups"),
    )
