"""Finds and loads the driver's library under a driver root.

`pynvml` asks for the library by its soname, and a library that is loaded already answers to it;
so the one under the root is loaded first, by path (node-agent.md 3.5, 7.1).
"""

import ctypes
from pathlib import Path
from typing import Final

from nodeagent.devices.driver_library import SONAME, places
from nodeagent.devices.errors import NoDriverError
from nodeagent.devices.sysfs import driver_of, nvidia_gpus

DRIVER_CONTAINER: Final = Path("/run/nvidia/driver")


def load(driver_root: Path, *, sysfs: Path) -> Path:
    """Load the library of a driver root, and return where it is.

    Raises:
        NoDriverError: it is not there, or does not load; the message says where it was looked
            for, and what may be wrong.

    """
    candidates = places(driver_root)
    # Only the host's own root may have it where the loader alone knows.
    names = [str(path) for path in candidates if path.exists()]
    names += [SONAME] if driver_root == Path("/") else []
    reasons = []
    for name in names:
        try:
            ctypes.CDLL(name)
        except OSError as error:
            reasons.append(str(error))
        else:
            return Path(name)
    searched = ", ".join(str(path.parent) for path in candidates)
    raise NoDriverError(
        "; ".join(
            (f"{SONAME} not found in {searched}", *reasons, *_hints(driver_root, sysfs=sysfs))
        )
    )


def _hints(driver_root: Path, *, sysfs: Path) -> list[str]:
    hints = []
    if driver_root != DRIVER_CONTAINER and (DRIVER_CONTAINER / "usr/bin/nvidia-smi").exists():
        hints.append(f"a driver container runs: set the driver root to {DRIVER_CONTAINER}")
    addresses = nvidia_gpus(sysfs)
    if not addresses:
        hints.append("the PCI tree has no NVIDIA GPU")
    for address in addresses:
        bound = driver_of(sysfs, address)
        if bound != "nvidia":
            hints.append(f"GPU {address} is bound to {bound or 'no driver'}")
    return hints
