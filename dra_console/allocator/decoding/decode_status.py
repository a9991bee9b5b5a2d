"""The status of a claim to values: allocation, consumers, and what drivers report.

Tolerations and configuration stand in the spec as well, and are read the same there.
"""

from sys import intern

from dra_console.allocator.decoding.decode_slice import node_selector
from dra_console.allocator.decoding.reading import Fields
from dra_console.allocator.errors import DecodeError
from dra_console.allocator.model import (
    AllocatedConfig,
    AllocationResult,
    ConfigSource,
    ConsumerReference,
    DeviceResult,
    DeviceStatus,
    OpaqueConfig,
    Toleration,
)


def opaque(fields: Fields) -> OpaqueConfig | None:
    """Read the configuration for one driver, `None` for one of another type."""
    inside = fields.child("opaque")
    if inside is None:
        return None
    return OpaqueConfig(driver=inside.text("driver"), parameters=inside.raw.get("parameters"))


def toleration(fields: Fields) -> Toleration:
    """Read a DeviceToleration."""
    return Toleration(
        key=fields.text("key"),
        operator=fields.text("operator") or "Equal",
        value=fields.text("value"),
        effect=fields.text("effect"),
        toleration_seconds=fields.integer("tolerationSeconds"),
    )


def allocation(fields: Fields) -> AllocationResult:
    """Read an AllocationResult."""
    devices = fields.child("devices") or Fields(fields.path_of("devices"), {})
    selector = fields.child("nodeSelector")
    return AllocationResult(
        results=tuple(_result(entry) for entry in devices.children("results")),
        config=tuple(_allocated_config(entry) for entry in devices.children("config")),
        node_selector=None if selector is None else node_selector(selector),
    )


def _result(fields: Fields) -> DeviceResult:
    return DeviceResult(
        request=intern(fields.text("request")),
        driver=intern(fields.text("driver")),
        pool=intern(fields.text("pool")),
        device=intern(fields.text("device")),
        admin_access=fields.boolean("adminAccess") or False,
        tolerations=tuple(toleration(entry) for entry in fields.children("tolerations")),
        binding_conditions=fields.texts("bindingConditions"),
        binding_failure_conditions=fields.texts("bindingFailureConditions"),
        share_id=fields.text("shareID") or None,
        consumed_capacity=fields.quantity_map("consumedCapacity") or None,
        skip_node_operations=fields.texts("skipNodeOperations"),
    )


def _allocated_config(fields: Fields) -> AllocatedConfig:
    source = fields.text("source")
    config = opaque(fields)
    if source not in set(ConfigSource):
        raise DecodeError(
            fields.path_of("source"), f"expected FromClass or FromClaim, got {source!r}"
        )
    if config is None:
        raise DecodeError(fields.path_of("opaque"), "expected an object, got null")
    return AllocatedConfig(
        source=ConfigSource(source), requests=fields.texts("requests"), opaque=config
    )


def consumer(fields: Fields) -> ConsumerReference:
    """Read one entry of `reservedFor`."""
    return ConsumerReference(
        api_group=intern(fields.text("apiGroup")),
        resource=intern(fields.text("resource")),
        name=fields.text("name"),
        uid=fields.text("uid"),
    )


def device_status(fields: Fields) -> DeviceStatus:
    """Read what a driver says of one device."""
    return DeviceStatus(
        driver=fields.text("driver"),
        pool=fields.text("pool"),
        device=fields.text("device"),
        conditions={
            each.text("type"): each.text("status") for each in fields.children("conditions")
        },
    )
