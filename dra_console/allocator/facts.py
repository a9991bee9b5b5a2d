"""What selectors and constraints can see of a device.

Attribute and capacity names without a domain belong to the driver's. If a device has both
`id` and `<driver>/id`, the qualified one wins (upstream leaves that to chance).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias, TypeVar

from dra_console.allocator.inventory import AttributeKind, AttributeValue, Device
from dra_console.allocator.quantity import Quantity
from dra_console.allocator.semver import Semver, SemverError

VERSION_KINDS: Final = frozenset({AttributeKind.VERSION, AttributeKind.VERSIONS})

DOUBTFUL_KINDS: Final = VERSION_KINDS | {AttributeKind.UNKNOWN}
"""Kinds of attributes that can be wrong about a value that decoding let through."""

_STRING: Final = AttributeKind.STRING
_INT: Final = AttributeKind.INT
_BOOL: Final = AttributeKind.BOOL
_VERSION: Final = AttributeKind.VERSION
"""Told apart by identity, since every attribute of a fleet is looked at, and an enumeration's
hash is worked out in Python."""

VERSIONS_KEPT: Final = 4_096

Value = TypeVar("Value")
Domains: TypeAlias = Mapping[str, Mapping[str, Value]]
"""Domain, then name within it."""


@dataclass(frozen=True, slots=True, eq=False)
class DeviceFacts:
    """The `device` variable of a selector; compared by identity.

    `fault` says why no selector at all can be evaluated on this device.
    """

    driver: str
    attributes: Domains[AttributeValue]
    capacity: Domains[Quantity]
    allow_multiple_allocations: bool
    fault: str | None

    def attribute(self, qualified_name: str) -> AttributeValue | None:
        """Look up `domain/id`, as constraints do."""
        domain, _, name = qualified_name.partition("/")
        return self.attributes.get(domain, {}).get(name)


def facts_of(device: Device, *, driver: str) -> DeviceFacts:
    """Group a device's attributes and capacities by domain."""
    return DeviceFacts(
        driver=driver,
        attributes=_by_domain(device.attributes, driver=driver),
        capacity=_by_domain(
            {name: capacity.value for name, capacity in device.capacity.items()}, driver=driver
        ),
        allow_multiple_allocations=device.allow_multiple_allocations,
        fault=fault_of(device),
    )


def _by_domain(values: Mapping[str, Value], *, driver: str) -> Domains[Value]:
    bare = {name: value for name, value in values.items() if "/" not in name}
    domains = {driver: bare} if bare else {}
    if len(bare) < len(values):
        for qualified_name, value in values.items():
            domain, slash, name = qualified_name.partition("/")
            if slash:
                domains.setdefault(domain, {})[name] = value
    return domains


def fault_of(device: Device) -> str | None:
    """Say what is wrong with a device's attributes; `None` if expressions can look at it."""
    for name, attribute in device.attributes.items():
        kind = attribute.kind
        if kind is _STRING or kind is _INT or kind is _BOOL:
            continue
        if kind is not _VERSION and kind not in DOUBTFUL_KINDS:
            continue
        if kind is AttributeKind.UNKNOWN:
            return f"attribute {name}: unsupported attribute value"
        versions = attribute.value if isinstance(attribute.value, tuple) else (attribute.value,)
        for version in versions:
            fault = _version_fault(str(version))
            if fault:
                return f"attribute {name}: parse semantic version: {fault}"
    return None


@lru_cache(maxsize=VERSIONS_KEPT)
def _version_fault(text: str) -> str | None:
    try:
        Semver.parse(text)
    except SemverError as error:
        return str(error)
    return None
