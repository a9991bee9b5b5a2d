"""What a claim is answered with: devices, their configuration, and where they can be used.

Everything is in the shape of `resource.k8s.io/v1`, both ways: `to_json` writes what
`status.allocation` holds. All names can be imported from `model` as well.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from dra_console.allocator.api_json import Json, JsonObject, without_unset
from dra_console.allocator.inventory import DeviceId, NodeSelector
from dra_console.allocator.quantity import Quantity


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
    skip_node_operations: tuple[str, ...] = ()

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
                "skipNodeOperations": [*self.skip_node_operations],
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
class DeviceStatus:
    """What a driver says of a device that the claim has: conditions by type, as in `True`."""

    driver: str
    pool: str
    device: str
    conditions: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def device_id(self) -> DeviceId:
        return DeviceId(self.driver, self.pool, self.device)


@dataclass(frozen=True, slots=True)
class ConsumerReference:
    """Who may use an allocated claim; `resource` is `pods` for a pod."""

    api_group: str
    resource: str
    name: str
    uid: str
