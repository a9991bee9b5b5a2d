"""Where a driver root may have NVIDIA's management library (node-agent.md 3.5)."""

from pathlib import Path
from typing import Final

SONAME: Final = "libnvidia-ml.so.1"
DIRECTORIES: Final = (
    "usr/lib64",
    "usr/lib/x86_64-linux-gnu",
    "usr/lib/aarch64-linux-gnu",
    "lib64",
    "lib/x86_64-linux-gnu",
    "lib/aarch64-linux-gnu",
    "usr/lib/wsl/lib",
    ".",
)


def places(driver_root: Path) -> tuple[Path, ...]:
    """Return every path that is looked at, in order."""
    return tuple(driver_root / directory / SONAME for directory in DIRECTORIES)


def find(driver_root: Path) -> Path | None:
    """Return where the library is; `None` also where only the loader knows."""
    return next((path for path in places(driver_root) if path.exists()), None)
