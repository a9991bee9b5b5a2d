"""A device's facts as the variables of its CEL evaluation.

The engine takes plain dicts only, so Kubernetes' "an unknown domain is an empty map" is
imitated: every domain that the expression names, and the driver's own, is added empty.
"""

from collections.abc import Iterable, Mapping
from typing import TypeAlias, TypeVar

from google.protobuf.message import Message

from dra_console.allocator.cel.library import quantity_message, semver_message
from dra_console.allocator.cel.text import REAL_DOMAINS_PREFIX
from dra_console.allocator.facts import VERSION_KINDS, DeviceFacts
from dra_console.allocator.inventory import AttributeValue, Scalar
from dra_console.allocator.semver import Semver

Value = TypeVar("Value")
Attribute: TypeAlias = Scalar | Message | list[Scalar | Message]


def device_variables(facts: DeviceFacts, *, named_domains: Iterable[str]) -> Mapping[str, object]:
    """Build the variables of one evaluation."""
    attributes = {
        domain: {name: _attribute(value) for name, value in values.items()}
        for domain, values in facts.attributes.items()
    }
    capacity = {
        domain: {name: quantity_message(value) for name, value in values.items()}
        for domain, values in facts.capacity.items()
    }
    domains = {facts.driver, *named_domains}
    every_attribute = _with_empty(attributes, domains)
    every_capacity = _with_empty(capacity, domains)
    return {
        "device": {
            "driver": facts.driver,
            "allowMultipleAllocations": facts.allow_multiple_allocations,
            "attributes": every_attribute,
            "capacity": every_capacity,
        },
        "device.driver": facts.driver,
        "device.allowMultipleAllocations": facts.allow_multiple_allocations,
        "device.attributes": every_attribute,
        "device.capacity": every_capacity,
        f"device.{REAL_DOMAINS_PREFIX}attributes": attributes,
        f"device.{REAL_DOMAINS_PREFIX}capacity": capacity,
    }


def _with_empty(
    published: dict[str, dict[str, Value]], domains: Iterable[str]
) -> dict[str, dict[str, Value]]:
    empty: dict[str, dict[str, Value]] = {domain: {} for domain in domains}
    return empty | published


def _attribute(attribute: AttributeValue) -> Attribute:
    is_version = attribute.kind in VERSION_KINDS
    if isinstance(attribute.value, tuple):
        return [_scalar(entry, is_version=is_version) for entry in attribute.value]
    if attribute.value is None:
        raise TypeError("an attribute without a value is a fault of the device")
    return _scalar(attribute.value, is_version=is_version)


def _scalar(value: Scalar, *, is_version: bool) -> Scalar | Message:
    return semver_message(Semver.parse(str(value))) if is_version else value
