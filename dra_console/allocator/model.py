"""Claims, classes and the snapshot as values: what is asked, and what is answered.

Everything is in the shape of `resource.k8s.io/v1`; `decode` turns older versions into it.
Names are the API's own, and the order of requests and results is the order of the API
object, since first-fit depends on it. What drivers publish is in `inventory`, what claims
are answered with in `allocation`; their names can be imported from here as well.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from dra_console.allocator.allocation import (
    AllocatedConfig,
    AllocationResult,
    ConfigSource,
    ConsumerReference,
    DeviceResult,
    DeviceStatus,
    OpaqueConfig,
    Toleration,
)
from dra_console.allocator.api_json import Json, JsonObject
from dra_console.allocator.inventory import (
    AttributeKind,
    AttributeValue,
    Capacity,
    CounterSet,
    Device,
    DeviceId,
    DeviceTaintRule,
    Node,
    NodeReach,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PoolId,
    RequestPolicy,
    ResourceSlice,
    Taint,
    ValidRange,
)
from dra_console.allocator.quantity import Quantity

__all__ = [
    "ALL_DEVICES",
    "DEVICES_PER_CLAIM",
    "EXACT_COUNT",
    "AllocatedConfig",
    "AllocationResult",
    "AttributeKind",
    "AttributeValue",
    "Capacity",
    "ClaimConfig",
    "ClaimSpec",
    "ConfigSource",
    "ConsumerReference",
    "CounterSet",
    "DerivedAttribute",
    "Device",
    "DeviceClass",
    "DeviceConstraint",
    "DeviceId",
    "DeviceRequest",
    "DeviceResult",
    "DeviceStatus",
    "DeviceTaintRule",
    "DeviceWish",
    "Json",
    "JsonObject",
    "Node",
    "NodeReach",
    "NodeSelector",
    "NodeSelectorRequirement",
    "NodeSelectorTerm",
    "OpaqueConfig",
    "PoolId",
    "RequestPolicy",
    "ResourceClaim",
    "ResourceClaimTemplate",
    "ResourceSlice",
    "Snapshot",
    "SubRequest",
    "Taint",
    "Toleration",
    "ValidRange",
]

EXACT_COUNT: Final = "ExactCount"
ALL_DEVICES: Final = "All"
DEVICES_PER_CLAIM: Final = 32
"""Most devices in the allocation of one claim."""


@dataclass(frozen=True, slots=True)
class DeviceClass:
    """`selectors` hold the expression, or `None` for an entry that is not CEL.

    `unknown_fields` are the paths that this release cannot honour; claims that name such a class
    are refused.
    """

    name: str
    selectors: tuple[str | None, ...] = ()
    config: tuple[OpaqueConfig | None, ...] = ()
    extended_resource_name: str | None = None
    created_at: str = ""
    """RFC 3339, as the API server writes it; empty for a class that was never stored."""

    unknown_fields: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DerivedAttribute:
    """An attribute that constraints see and that an expression computes for each device."""

    name: str
    expression: str


@dataclass(frozen=True, slots=True)
class DeviceWish:
    """What `exactly` and each entry of `firstAvailable` ask for.

    `count` is the number of devices in mode ExactCount and means nothing otherwise.
    `capacity` is `None` unless the request has the field. `names_admin_access` tells whether
    it has that field, be it false: without the feature gate, its presence is refused.
    """

    device_class_name: str
    selectors: tuple[str | None, ...] = ()
    allocation_mode: str = EXACT_COUNT
    count: int = 1
    admin_access: bool = False
    tolerations: tuple[Toleration, ...] = ()
    capacity: Mapping[str, Quantity] | None = field(default=None, hash=False)
    names_admin_access: bool = False
    derived_attributes: tuple[DerivedAttribute, ...] = ()


@dataclass(frozen=True, slots=True)
class SubRequest:
    """One alternative of a prioritized list."""

    name: str
    wish: DeviceWish


@dataclass(frozen=True, slots=True)
class DeviceRequest:
    """Either `exactly` or a non-empty `first_available`, unless the object is invalid."""

    name: str
    exactly: DeviceWish | None = None
    first_available: tuple[SubRequest, ...] = ()


@dataclass(frozen=True, slots=True)
class DeviceConstraint:
    """An empty `requests` covers every request of the claim."""

    requests: tuple[str, ...] = ()
    match_attribute: str | None = None
    distinct_attribute: str | None = None


@dataclass(frozen=True, slots=True)
class ClaimConfig:
    """An empty `requests` addresses every request of the claim."""

    requests: tuple[str, ...]
    opaque: OpaqueConfig | None


@dataclass(frozen=True, slots=True)
class ClaimSpec:
    """`unknown_fields` are the paths that this release cannot honour; it refuses to ignore them."""

    requests: tuple[DeviceRequest, ...] = ()
    constraints: tuple[DeviceConstraint, ...] = ()
    config: tuple[ClaimConfig, ...] = ()
    unknown_fields: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ResourceClaim:
    """A claim holds the devices of its `allocation`, whether or not anyone reserved it."""

    namespace: str
    name: str
    uid: str = ""
    spec: ClaimSpec = field(default_factory=ClaimSpec)
    allocation: AllocationResult | None = None
    reserved_for: tuple[ConsumerReference, ...] = ()
    is_deleting: bool = False
    devices: tuple[DeviceStatus, ...] = ()

    @property
    def key(self) -> str:
        """`namespace/name`, which every message about the claim uses."""
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class ResourceClaimTemplate:
    """What each generated claim is made from."""

    namespace: str
    name: str
    spec: ClaimSpec
    labels: Mapping[str, str] = field(default_factory=dict, hash=False)
    annotations: Mapping[str, str] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Snapshot:
    """Everything an allocation depends on, as it was at one moment.

    Compared by identity, so that what is derived from it can be kept beside it.
    """

    nodes: tuple[Node, ...] = ()
    slices: tuple[ResourceSlice, ...] = ()
    classes: tuple[DeviceClass, ...] = ()
    claims: tuple[ResourceClaim, ...] = ()
    taint_rules: tuple[DeviceTaintRule, ...] = ()
