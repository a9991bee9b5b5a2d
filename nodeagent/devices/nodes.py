"""The device nodes that CUDA needs in a container, checked on the host before a GPU is offered.

A node of a fresh host can lack them until the first program asks for a GPU: the driver makes none
by itself (node-agent.md 6.6).
"""

import stat
from pathlib import Path
from typing import Final

CONTROL_NODES: Final = ("nvidiactl", "nvidia-uvm")


def missing_nodes(dev: Path, minor: int) -> tuple[str, ...]:
    """Return the paths of needed nodes that are not there, or are no character devices."""
    return tuple(
        str(dev / name)
        for name in (f"nvidia{minor}", *CONTROL_NODES)
        if not _is_character_device(dev / name)
    )


def _is_character_device(path: Path) -> bool:
    try:
        return stat.S_ISCHR(path.stat().st_mode)
    except OSError:
        return False
