"""Where a GPU sits, from the kernel's PCI tree; the root of it is given, so that a test can."""

import re
from pathlib import Path

BUS_ID = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]")
NVIDIA = "0x10de"
GPU_CLASSES = ("0x0300", "0x0302")
"""VGA and 3D controllers; the rest of the number is the programming interface."""

ROOT = re.compile(r"pci[0-9a-f]{4,}:[0-9a-f]{2}")


def short_bus_id(nvml_bus_id: str | bytes) -> str | None:
    """Turn NVML's `00000000:1B:00.0` into `0000:1b:00.0`.

    `None` if the domain needs more than four digits: the standard attribute cannot express it.
    """
    spelled = nvml_bus_id.decode("ascii") if isinstance(nvml_bus_id, bytes) else nvml_bus_id
    lowered = spelled.lower()
    if len(lowered) == len("00000000:00:00.0") and lowered.startswith("0000"):
        lowered = lowered[4:]
    return lowered if BUS_ID.fullmatch(lowered) else None


def pcie_root(sysfs: Path, bus_id: str) -> str | None:
    """Return the PCI root above a device, as in `pci0000:15`; `None` where there is none (VMs)."""
    device = (sysfs / "bus/pci/devices" / bus_id).resolve()
    try:
        first = device.relative_to((sysfs / "devices").resolve()).parts[0]
    except (ValueError, IndexError):
        return None
    return first if ROOT.fullmatch(first) else None


def physical_numa_node(sysfs: Path, bus_id: str) -> int | None:
    """Return the NUMA node that a device is attached to; the kernel says -1 if it does not know."""
    try:
        node = int((sysfs / "bus/pci/devices" / bus_id / "numa_node").read_text())
    except (OSError, ValueError):
        return None
    return node if node >= 0 else None


def nvidia_gpus(sysfs: Path) -> tuple[str, ...]:
    """Return the PCI addresses of NVIDIA's GPUs, whatever driver they are bound to."""
    found = []
    for device in sorted((sysfs / "bus/pci/devices").glob("*")):
        try:
            vendor = (device / "vendor").read_text().strip()
            kind = (device / "class").read_text().strip()
        except OSError:
            continue
        if vendor == NVIDIA and kind.startswith(GPU_CLASSES):
            found.append(device.name)
    return tuple(found)


def driver_of(sysfs: Path, bus_id: str) -> str | None:
    """Return the kernel driver that a device is bound to, as in `nvidia` or `vfio-pci`."""
    link = sysfs / "bus/pci/devices" / bus_id / "driver"
    return link.resolve().name if link.exists() else None
