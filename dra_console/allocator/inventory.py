"""The inventory as values: nodes, and the devices that drivers publish for them.

Everything is in the shape of `resource.k8s.io/v1`; `decode` turns older versions into it.
A field that the API leaves out is `None` where absence means something, and the API's own
default (empty, false) where it does not. Mappings are never written to after decoding.
The order of devices is the order of the API object, since first-fit depends on it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple, TypeAlias

from dra_console.allocator.api_json import JsonObject, without_unset
from dra_console.allocator.quantity import Quantity

NO_SCHEDULE: Final = "NoSchedule"
NO_EXECUTE: Final = "NoExecute"


class PoolId(NamedTuple):
    """A pool's name is unique for its driver only."""

    driver: str
    pool: str

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}"


class DeviceId(NamedTuple):
    """The identity by which claims hold a device, as in `gpu.nvidia.com/gpu-01/gpu-0`."""

    driver: str
    pool: str
    device: str

    @property
    def pool_id(self) -> PoolId:
        return PoolId(self.driver, self.pool)

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}/{self.device}"


@dataclass(frozen=True, slots=True)
class NodeSelectorRequirement:
    """One comparison with a label or, in `match_fields`, with the node's name."""

    key: str
    operator: str
    values: tuple[str, ...]

    def to_json(self) -> JsonObject:
        return without_unset({"key": self.key, "operator": self.operator, "values": [*self.values]})


@dataclass(frozen=True, slots=True)
class NodeSelectorTerm:
    """All its requirements hold; a term without any matches no node."""

    match_expressions: tuple[NodeSelectorRequirement, ...] = ()
    match_fields: tuple[NodeSelectorRequirement, ...] = ()

    def to_json(self) -> JsonObject:
        return without_unset(
            {
                "matchExpressions": [each.to_json() for each in self.match_expressions],
                "matchFields": [each.to_json() for each in self.match_fields],
            }
        )


@dataclass(frozen=True, slots=True)
class NodeSelector:
    """Terms are alternatives; the requirements inside one term all hold."""

    terms: tuple[NodeSelectorTerm, ...]

    def to_json(self) -> JsonObject:
        return {"nodeSelectorTerms": [term.to_json() for term in self.terms]}


@dataclass(frozen=True, slots=True)
class Node:
    """What of a node decides which slices it reaches, and which devices it can serve.

    `declared_features` are the feature gates that its kubelet has on and needs to say so.
    """

    name: str
    labels: Mapping[str, str] = field(default_factory=dict, hash=False)
    declared_features: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class NodeReach:
    """From which nodes a slice or a device can be used; at most one of the three is set."""

    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool = False


class AttributeKind(StrEnum):
    """The type of an attribute's value, spelled as its key in the API object."""

    INT = "int"
    BOOL = "bool"
    STRING = "string"
    VERSION = "version"
    INTS = "ints"
    BOOLS = "bools"
    STRINGS = "strings"
    VERSIONS = "versions"
    UNKNOWN = "unknown"
    """No value, or one of a type that this release does not know."""


Scalar: TypeAlias = bool | int | str


@dataclass(frozen=True, slots=True)
class AttributeValue:
    """Values of different kinds are never equal; versions are equal by their spelling."""

    kind: AttributeKind
    value: Scalar | tuple[Scalar, ...] | None


@dataclass(frozen=True, slots=True)
class ValidRange:
    """Amounts from `minimum`, in steps, up to `maximum`."""

    minimum: Quantity
    maximum: Quantity | None
    step: Quantity | None


@dataclass(frozen=True, slots=True)
class RequestPolicy:
    """How a request for part of a capacity is rounded and bounded."""

    default: Quantity | None
    valid_values: tuple[Quantity, ...]
    valid_range: ValidRange | None


@dataclass(frozen=True, slots=True)
class Capacity:
    """The total of a capacity, never what is left of it."""

    value: Quantity
    request_policy: RequestPolicy | None = None


@dataclass(frozen=True, slots=True)
class CounterSet:
    """Counters that the devices of one pool share, such as a board's memory slices.

    Also what one device takes of such a set; then `compatibility_groups` name the devices
    that may draw on the set beside it (KEP-4815, gate DRADeviceCompatibilityGroups).
    """

    name: str
    counters: Mapping[str, Quantity] = field(hash=False)
    compatibility_groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Taint:
    """A reason not to use a device; `time_added` is kept as the API server wrote it."""

    key: str
    value: str
    effect: str
    time_added: str | None = None

    def __str__(self) -> str:
        return (
            f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"
        )


@dataclass(frozen=True, slots=True)
class Device:
    """One device of a slice. `reach` counts only where the slice leaves it to its devices."""

    name: str
    attributes: Mapping[str, AttributeValue] = field(default_factory=dict, hash=False)
    capacity: Mapping[str, Capacity] = field(default_factory=dict, hash=False)
    consumes_counters: tuple[CounterSet, ...] = ()
    taints: tuple[Taint, ...] = ()
    reach: NodeReach | None = None
    binds_to_node: bool = False
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    allow_multiple_allocations: bool = False


@dataclass(frozen=True, slots=True)
class ResourceSlice:
    """What one driver publishes about part of one pool.

    `skip_node_operations` are the calls to the driver that its devices do without.
    `unknown_fields` are the paths that this release does not look at.
    """

    name: str
    driver: str
    pool: str
    generation: int
    resource_slice_count: int
    reach: NodeReach
    per_device_node_selection: bool = False
    devices: tuple[Device, ...] = ()
    shared_counters: tuple[CounterSet, ...] = ()
    skip_node_operations: tuple[str, ...] = ()
    unknown_fields: tuple[str, ...] = ()

    @property
    def pool_id(self) -> PoolId:
        return PoolId(self.driver, self.pool)


@dataclass(frozen=True, slots=True)
class DeviceTaintRule:
    """A taint for every device that agrees with the given names.

    `selects_nothing` marks a rule without a selector, and one that selects by more than these,
    as an old alpha did by class or expression: what is left of it would be broader than meant.
    """

    name: str
    taint: Taint
    driver: str | None = None
    pool: str | None = None
    device: str | None = None
    selects_nothing: bool = False
