"""What the driver's error numbers mean (NVIDIA: XID errors; node-agent.md 6.3).

A number that is not listed counts as a fault of the hardware until somebody knows better.
"""

from types import MappingProxyType
from typing import Final

APPLICATION: Final = frozenset({13, 31, 43, 45, 68, 109})
"""Mistakes of the program that runs, as in an access beyond its memory: the GPU is well."""

RECOVERY_ACTION_CHANGED: Final = 154
"""Not a fault: the vital signs say which action the driver recommends now."""

NAMES: Final = MappingProxyType(
    {
        48: "double-bit ECC error",
        63: "memory row replaced",
        64: "memory row not replaced",
        74: "NVLink error",
        79: "fallen off the bus",
        92: "many single-bit ECC errors",
        94: "contained memory error",
        95: "uncontained memory error",
        119: "GSP does not answer",
        120: "GSP error",
        140: "ECC error not recovered",
    }
)


def spelled(xid: int) -> str:
    """Return a number with its name, if it has one, as in `Xid 79 (fallen off the bus)`."""
    name = NAMES.get(xid)
    return f"Xid {xid} ({name})" if name else f"Xid {xid}"
