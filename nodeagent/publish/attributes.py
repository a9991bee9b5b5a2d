"""A device as the API shows it: attributes, capacities, and the counters that it draws on.

Names and types are those that NVIDIA's own driver publishes (node-agent.md 5.1), so that classes
and selectors written for it fit; names without a domain belong to the driver's domain. Only what
hardly changes is here: each change is a write to etcd and an event to every scheduler.
"""

import re
from collections.abc import Iterator
from typing import Final

import structlog

from nodeagent.devices.mig import (
    BYTES_PER_MEBIBYTE,
    Partition,
    capacities,
    counter_set_name,
    counters_drawn,
)
from nodeagent.devices.model import Device, Gpu, MigMode, Source
from nodeagent.fields import JsonObject
from nodeagent.quantity import quantity_of_bytes

log = structlog.get_logger()

VALUE_BYTES: Final = 64
"""What the API takes for a string or version attribute."""

VERSION: Final = re.compile(r"(\d+)(?:\.(\d+))?(?:\.(\d+))?", re.ASCII)
STANDARD_DOMAIN: Final = "resource.kubernetes.io"


def device_to_api(device: Device, *, source: Source) -> JsonObject:
    """Describe one device for a ResourceSlice of the v1 shape."""
    attributes: JsonObject = dict(_attributes(device))
    if source is Source.SIMULATED:
        attributes["simulated"] = {"bool": True}
    described: JsonObject = {
        "name": device.name,
        "attributes": attributes,
        "capacity": _capacity(device),
    }
    if device.partition is not None:
        described["consumesCounters"] = [
            {
                "counterSet": counter_set_name(device.gpu.minor),
                "counters": counters_to_api(counters_drawn(device.partition)),
            }
        ]
    return described


def counters_to_api(counters: dict[str, int]) -> JsonObject:
    """Spell counters as the API does; memory is in bytes, the others in pieces."""
    return {
        name: {"value": quantity_of_bytes(amount) if name == "memory" else str(amount)}
        for name, amount in counters.items()
    }


def semantic_version(version: str) -> str | None:
    """Turn a driver's version into a strict semantic one: `580.95.05` becomes `580.95.5`.

    `None` if it is none; then the attribute is left out, not the device.
    """
    found = VERSION.fullmatch(version)
    if found is None:
        return None
    return ".".join(str(int(part or 0)) for part in found.groups())


def _attributes(device: Device) -> Iterator[tuple[str, JsonObject]]:
    gpu = device.gpu
    if device.partition is None:
        yield "type", {"string": "gpu"}
        yield "uuid", {"string": gpu.uuid}
    else:
        yield "type", {"string": "mig"}
        yield "parentUUID", {"string": gpu.uuid}
        yield "profile", {"string": device.partition.profile.name}
    yield from _strings(gpu, device=device.name)
    for name, version in (
        ("cudaComputeCapability", gpu.compute_capability),
        ("driverVersion", gpu.driver_version),
        ("cudaDriverVersion", gpu.cuda_driver_version),
    ):
        semantic = semantic_version(version) if version is not None else None
        if semantic is not None:
            yield name, {"version": semantic}
    if gpu.numa_node is not None:
        yield "numaNode", {"int": gpu.numa_node}
    if device.partition is None:
        yield "migCapable", {"bool": gpu.mig_mode is not MigMode.UNSUPPORTED}
        yield "migMode", {"string": gpu.mig_mode.value}


def _strings(gpu: Gpu, *, device: str) -> Iterator[tuple[str, JsonObject]]:
    for name, value in (
        ("productName", gpu.product_name),
        ("brand", gpu.brand),
        ("architecture", gpu.architecture),
        ("eccMode", gpu.ecc_mode),
        (f"{STANDARD_DOMAIN}/pciBusID", gpu.pci_bus_id),
        (f"{STANDARD_DOMAIN}/pcieRoot", gpu.pcie_root),
    ):
        if value is None:
            continue
        cut = value.encode()[:VALUE_BYTES].decode(errors="ignore")
        if cut != value:
            log.warning("attribute cut", device=device, attribute=name, value=value)
        yield name, {"string": cut}


def _capacity(device: Device) -> JsonObject:
    if device.partition is None:
        return {"memory": {"value": quantity_of_bytes(device.gpu.memory_bytes)}}
    return _partition_capacity(device.partition)


def _partition_capacity(partition: Partition) -> JsonObject:
    memory_bytes = partition.profile.memory_mebibytes * BYTES_PER_MEBIBYTE
    pieces = capacities(partition.profile)
    return {
        "memory": {"value": quantity_of_bytes(memory_bytes)},
        **{name: {"value": str(amount)} for name, amount in pieces.items()},
    }
