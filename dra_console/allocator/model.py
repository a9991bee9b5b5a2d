"""Claims, classes and the snapshot as values: what is asked, and what is answered.

Everything is in the shape of `resource.k8s.io/v1`; `decode` turns older versions into it.
Names are the API's own, and the order of requests and results is the order of the API
object, since first-fit depends on it. What drivers publish is in `inventory`, whose names
can be imported from here as well.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from dra_console.allocator.api_json import Json, JsonObject, without_unset
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
    "Device",
    "DeviceClass",
    "DeviceConstraint",
    "DeviceId",
    "DeviceRequest",
    "DeviceResult",
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


@dataclass(frozen=True, slots=True)
class OpaqueConfig:
    """Parameters for one driver, handed on unread."""

    driver: str
    parameters: Json = field(hash=False)

    def to_json(self) -> JsonObject:
        return {"driver": self.driver, "parameters": self.parameters}


@dataclass(frozen=True, slots=True)
class Toleration:
    """An empty key means any key, an empty effect any effect."""

    key: str
    operator: str
    value: str
    effect: str
    toleration_seconds: int | None = None

    def to_json(self) -> JsonObject:
        return without_unset(
            {
                "key": self.key,
                "operator": self.operator,
                "value": self.value,
                "effect": self.effect,
            }
        ) | (
            {}
            if self.toleration_seconds is None
            else {"tolerationSeconds": self.toleration_seconds}
        )


@dataclass(frozen=True, slots=True)
class DeviceClass:
    """`selectors` hold the expression, or `None` for an entry that is not CEL."""

    name: str
    selectors: tuple[str | None, ...] = ()
    config: tuple[OpaqueConfig | None, ...] = ()
    extended_resource_name: str | None = None


@dataclass(frozen=True, slots=True)
class DeviceWish:
    """What `exactly` and each entry of `firstAvailable` ask for.

    `count` is the number of devices in mode ExactCount and means nothing otherwise.
    `capacity` is `None` unless the request names amounts.
    """

    device_class_name: str
    selectors: tuple[str | None, ...] = ()
    allocation_mode: str = EXACT_COUNT
    count: int = 1
    admin_access: bool = False
    tolerations: tuple[Toleration, ...] = ()
    capacity: Mapping[str, Quantity] | None = field(default=None, hash=False)


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
class DeviceResult:
    """One allocated device. `request` is `request/subrequest` for a prioritized list."""

    request: str
    driver: str
    pool: str
    device: str
    admin_access: bool = False
    tolerations: tuple[Toleration, ...] = ()
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    share_id: str | None = None
    consumed_capacity: Mapping[str, Quantity] | None = field(default=None, hash=False)

    @property
    def device_id(self) -> DeviceId:
        return DeviceId(self.driver, self.pool, self.device)

    def to_json(self) -> JsonObject:
        consumed: JsonObject | None = None
        if self.consumed_capacity is not None:
            consumed = {name: str(amount) for name, amount in self.consumed_capacity.items()}
        return without_unset(
            {
                "request": self.request,
                "driver": self.driver,
                "pool": self.pool,
                "device": self.device,
                "adminAccess": self.admin_access,
                "tolerations": [each.to_json() for each in self.tolerations],
                "bindingConditions": [*self.binding_conditions],
                "bindingFailureConditions": [*self.binding_failure_conditions],
                "shareID": self.share_id,
                "consumedCapacity": consumed,
            }
        )


class ConfigSource(StrEnum):
    """Where a configuration came from; the driver lets the claim's win."""

    CLASS = "FromClass"
    CLAIM = "FromClaim"


@dataclass(frozen=True, slots=True)
class AllocatedConfig:
    """Configuration handed to the driver; an empty `requests` addresses every request."""

    source: ConfigSource
    requests: tuple[str, ...]
    opaque: OpaqueConfig

    def to_json(self) -> JsonObject:
        return without_unset(
            {
                "source": self.source.value,
                "requests": [*self.requests],
                "opaque": self.opaque.to_json(),
            }
        )


@dataclass(frozen=True, slots=True)
class AllocationResult:
    """`status.allocation` of a claim. Without a node selector it can be used on every node."""

    results: tuple[DeviceResult, ...]
    config: tuple[AllocatedConfig, ...] = ()
    node_selector: NodeSelector | None = None

    def to_json(self) -> JsonObject:
        """Write `status.allocation` in the v1 shape, without `allocationTimestamp`."""
        devices: JsonObject = {"results": [each.to_json() for each in self.results]}
        if self.config:
            devices["config"] = [each.to_json() for each in self.config]
        allocation: JsonObject = {"devices": devices}
        if self.node_selector is not None:
            allocation["nodeSelector"] = self.node_selector.to_json()
        return allocation


@dataclass(frozen=True, slots=True)
class ConsumerReference:
    """Who may use an allocated claim; `resource` is `pods` for a pod."""

    api_group: str
    resource: str
    name: str
    uid: str


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
