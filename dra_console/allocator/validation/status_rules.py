"""Rules for the status of a claim: who may use it, what it got, what drivers say of that.

Nothing here looks at other claims: that two claims hold one device, no API server notices.
"""

from collections.abc import Iterator, Mapping
from ipaddress import IPv6Interface, ip_interface
from typing import Final, TypeAlias

from dra_console.allocator import names
from dra_console.allocator.decoding.reading import Fields
from dra_console.allocator.validation.allocation_rules import check_allocation, check_device_id
from dra_console.allocator.validation.claim_shapes import ALLOCATION
from dra_console.allocator.validation.condition_rules import check_conditions
from dra_console.allocator.validation.config_rules import check_raw_object
from dra_console.allocator.validation.equality import is_equal
from dra_console.allocator.validation.field_errors import FieldErrors
from dra_console.allocator.validation.formats import (
    check_format,
    check_unique,
    is_too_many,
    listed,
)
from dra_console.allocator.validation.request_names import RequestNames

RESERVED_FOR_LIMIT: Final = 256
CONDITIONS_LIMIT: Final = 8
IPS_LIMIT: Final = 16
NETWORK_LIMITS_BYTES: Final[Mapping[str, int]] = {"interfaceName": 256, "hardwareAddress": 128}
IMMUTABLE: Final = "field is immutable"

DeviceKey: TypeAlias = tuple[str, str, str, str]


def check_status(
    status: Fields, errors: FieldErrors, *, stored: Fields, known: RequestNames, is_deleting: bool
) -> None:
    """Check a changed status; `known` are the requests of the claim."""
    _check_reservations(status, errors, stored=stored, is_deleting=is_deleting)
    held, freed = _held(status), _held(stored) - _held(status)
    # What a driver said of a device that is given back goes with it.
    devices = [each for each in status.children("devices") if _key(each) not in freed]
    for device in devices:
        _check_device(device, errors, held=held)
    check_unique(map(_key, devices), errors, path=status.path_of("devices"))
    allocation, before = status.child("allocation"), stored.child("allocation")
    if allocation is None:
        return
    if before is None:
        check_allocation(allocation, errors, known=known)
    elif not is_equal(allocation.raw, before.raw, ALLOCATION):
        errors.invalid(allocation.path, allocation.raw, IMMUTABLE)


def _check_reservations(
    status: Fields, errors: FieldErrors, *, stored: Fields, is_deleting: bool
) -> None:
    consumers, path = listed(status, "reservedFor"), status.path_of("reservedFor")
    if not is_too_many(consumers, RESERVED_FOR_LIMIT, errors, path=path):
        for consumer in consumers:
            for field in ("resource", "name", "uid"):
                if not consumer.text(field):
                    errors.required(consumer.path_of(field))
        check_unique([each.text("uid") for each in consumers], errors, path=path)
    if not consumers:
        return
    if not status.has("allocation"):
        errors.forbidden(path, "only a claim with an allocation can be reserved")
    elif is_deleting:
        before = [_consumer(each) for each in stored.children("reservedFor")]
        if any(_consumer(each) not in before for each in consumers):
            errors.forbidden(path, "nobody can be added to a claim that is being deleted")


def _consumer(consumer: Fields) -> tuple[str, ...]:
    return tuple(consumer.text(field) for field in ("apiGroup", "resource", "name", "uid"))


def _held(status: Fields) -> frozenset[DeviceKey]:
    return frozenset(_results(status))


def _results(status: Fields) -> Iterator[DeviceKey]:
    allocation = status.child("allocation")
    devices = allocation.child("devices") if allocation is not None else None
    if devices is not None:
        yield from map(_key, devices.children("results"))


def _key(device: Fields) -> DeviceKey:
    return (
        device.text("driver"),
        device.text("pool"),
        device.text("device"),
        device.text("shareID"),
    )


def _check_device(device: Fields, errors: FieldErrors, *, held: frozenset[DeviceKey]) -> None:
    check_device_id(device, errors)
    if _key(device) not in held:
        shown = "/".join(part for part in _key(device) if part)
        errors.invalid(device.path, shown, "must be an allocated device in the claim")
    check_conditions(device, errors, limit=CONDITIONS_LIMIT)
    data = device.raw.get("data")
    if data is not None:
        check_raw_object(data, errors, path=device.path_of("data"))
    network = device.child("networkData")
    if network is not None:
        _check_network(network, errors)


def _check_network(network: Fields, errors: FieldErrors) -> None:
    for field, limit in NETWORK_LIMITS_BYTES.items():
        if names.size_bytes(network.text(field)) > limit:
            errors.too_long(network.path_of(field), limit)
    addresses, path = network.texts("ips"), network.path_of("ips")
    if is_too_many(addresses, IPS_LIMIT, errors, path=path):
        return
    for index, address in enumerate(addresses):
        check_format(address, _interface_address, errors, path=f"{path}[{index}]")
    check_unique(addresses, errors, path=path)


def _interface_address(text: str) -> Iterator[str]:
    """Check an address with the length of its network, in canonical form."""
    address, slash, length = text.partition("/")
    try:
        found = ip_interface(text)
    except ValueError:
        found = None
    if found is None or not slash or not length.isdecimal() or "%" in address:
        yield "must be an address with a prefix length, as in 10.9.8.7/24 or 2001:db8::1/64"
        return
    mapped = found.ip.ipv4_mapped if isinstance(found, IPv6Interface) else None
    if text != str(found) or mapped is not None:
        yield f"must be in canonical form ({found})"
