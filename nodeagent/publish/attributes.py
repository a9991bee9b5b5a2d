"""What a device is like, as attributes of the API, the most important first.

Names and types are those that NVIDIA's own driver publishes (node-agent.md 5.1), so that classes
and selectors written for it fit; names without a domain belong to the driver's domain. Only what
hardly changes is here: each change is a write to etcd and an event to every scheduler. So nothing
here follows the claims of the moment, as the mode and the instances of dynamic MIG do.
"""

import re
from collections.abc import Iterator
from typing import Final

from nodeagent.devices.model import Device, Gpu, MigMode, Source
from nodeagent.publish.features import Feature, Shape
from nodeagent.publish.limits import Attribute, fitting_text

VERSION: Final = re.compile(r"(\d+)(?:\.(\d+))?(?:\.(\d+))?", re.ASCII)
STANDARD_DOMAIN: Final = "resource.kubernetes.io"
NUMA_NODE: Final = f"{STANDARD_DOMAIN}/numaNode"
"""KEP-6072: the device's NUMA node, or a list of it and those beside it."""


def attributes_of(
    device: Device, *, source: Source, shape: Shape, with_serials: bool = False
) -> Iterator[Attribute]:
    """Yield a device's attributes; without the optional ones only what classes select by.

    A serial names one board for ever, to everybody who may list slices.
    """
    yield from _identity(device)
    if source is Source.SIMULATED:
        yield "simulated", {"bool": True}
    if not shape.with_optional_attributes:
        return
    gpu = device.gpu
    yield from _texts(device.name, {"productName": gpu.product_name})
    yield from _versions(gpu)
    yield from _place(gpu, device=device.name, shape=shape)
    yield from _kind(gpu, device=device.name)
    if with_serials:
        yield from _texts(device.name, {"serial": gpu.serial})
    if device.partition is None:
        yield from _mig_of_whole(gpu)


def semantic_version(version: str) -> str | None:
    """Turn a driver's version into a strict semantic one: `580.95.05` becomes `580.95.5`.

    `None` if it is none; then the attribute is left out, not the device.
    """
    found = VERSION.fullmatch(version)
    if found is None:
        return None
    return ".".join(str(int(part or 0)) for part in found.groups())


def _identity(device: Device) -> Iterator[Attribute]:
    gpu, partition = device.gpu, device.partition
    if partition is None:
        yield "type", {"string": "gpu"}
        yield "uuid", {"string": gpu.uuid}
    else:
        yield "type", {"string": "mig"}
        yield "profile", {"string": partition.profile.name}
        yield "parentUUID", {"string": gpu.uuid}
        if not gpu.is_dynamic and partition.uuid is not None:
            yield "uuid", {"string": partition.uuid}


def _versions(gpu: Gpu) -> Iterator[Attribute]:
    for name, version in (
        ("cudaComputeCapability", gpu.compute_capability),
        ("driverVersion", gpu.driver_version),
        ("cudaDriverVersion", gpu.cuda_driver_version),
    ):
        semantic = semantic_version(version) if version is not None else None
        if semantic is not None:
            yield name, {"version": semantic}


def _place(gpu: Gpu, *, device: str, shape: Shape) -> Iterator[Attribute]:
    yield from _texts(
        device,
        {
            f"{STANDARD_DOMAIN}/pciBusID": gpu.pci_bus_id,
            f"{STANDARD_DOMAIN}/pcieRoot": gpu.pcie_root,
        },
    )
    if gpu.numa_node is None:
        return
    if Feature.LISTS in shape and len(gpu.near_numa_nodes) > 1:
        yield NUMA_NODE, {"ints": list(gpu.near_numa_nodes)}
    else:
        yield NUMA_NODE, {"int": gpu.numa_node}
    yield "numaNode", {"int": gpu.numa_node}


def _kind(gpu: Gpu, *, device: str) -> Iterator[Attribute]:
    yield from _texts(
        device,
        {
            "architecture": gpu.architecture,
            "brand": gpu.brand,
            "nvlinkClique": gpu.nvlink_clique,
            "virtualization": gpu.virtualization,
            "addressingMode": gpu.addressing_mode,
            "eccMode": gpu.ecc_mode,
            "boardPartNumber": gpu.board_part_number,
        },
    )
    if gpu.persistence is not None:
        yield "persistence", {"bool": gpu.persistence}


def _mig_of_whole(gpu: Gpu) -> Iterator[Attribute]:
    yield "migCapable", {"bool": gpu.mig_mode is not MigMode.UNSUPPORTED}
    if not gpu.toggles_mig:
        yield "migMode", {"string": gpu.mig_mode.value}


def _texts(device: str, texts: dict[str, str | None]) -> Iterator[Attribute]:
    for name, value in texts.items():
        if value is not None:
            yield name, {"string": fitting_text(value, device=device, attribute=name)}
