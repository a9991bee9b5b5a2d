"""Programs that come with the driver, run from its root, for what NVML itself does not do."""

import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import structlog

from nodeagent.devices.errors import (
    DevicesError,
    DriverTimeoutError,
    NoDriverError,
    UnsupportedError,
)

log = structlog.get_logger()

DIRECTORIES: Final = ("opt/bin", "usr/bin", "usr/sbin", "bin", "sbin")
LIBRARY_DIRECTORIES: Final = (
    "usr/lib64", "usr/lib/x86_64-linux-gnu", "usr/lib/aarch64-linux-gnu", "usr/lib/wsl/lib",
)  # fmt: skip
PATIENCE_SECONDS: Final = 15
LONGEST_TIME_SLICE: Final = 3


def set_time_slice(driver_root: Path, gpu_uuid: str, interval: int) -> None:
    """Set a GPU's time slice through `nvidia-smi`; 0 is the driver's default.

    Raises:
        UnsupportedError: no such interval, or the GPU has none.
        NoDriverError: the driver root has no `nvidia-smi`.
        DriverTimeoutError: it did not end in time.

    """
    if not 0 <= interval <= LONGEST_TIME_SLICE:
        raise UnsupportedError(f"time slice {interval}: expected 0 to {LONGEST_TIME_SLICE}")
    ended = _run(
        driver_root,
        "nvidia-smi",
        ("compute-policy", "-i", gpu_uuid, "--set-timeslice", str(interval)),
    )
    if ended.returncode != 0:
        told = (ended.stdout + ended.stderr).decode(errors="replace").strip()
        kind = UnsupportedError if "not supported" in told.lower() else DevicesError
        raise kind(f"nvidia-smi ended with {ended.returncode}: {told}")


def make_nodes(driver_root: Path, minors: Iterable[int]) -> bool:
    """Have `nvidia-modprobe` make the device nodes of GPUs; tell whether it could."""
    try:
        codes = [
            _run(driver_root, "nvidia-modprobe", ("-u", "-c", str(minor))).returncode
            for minor in minors
        ]
    except DevicesError as error:
        log.warning("device nodes not made", reason=str(error))
        return False
    return not any(codes)


def _run(
    driver_root: Path, program: str, arguments: tuple[str, ...]
) -> "subprocess.CompletedProcess[bytes]":
    candidates = [driver_root / directory / program for directory in DIRECTORIES]
    found = next((path for path in candidates if path.exists()), None)
    if found is None:
        raise NoDriverError(f"no {program} in {', '.join(str(p.parent) for p in candidates)}")
    libraries = ":".join(str(driver_root / directory) for directory in LIBRARY_DIRECTORIES)
    try:
        return subprocess.run(
            [found, *arguments],
            check=False,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=PATIENCE_SECONDS,
            env={"LD_LIBRARY_PATH": libraries, "PATH": "/usr/bin:/bin"},
        )
    except subprocess.TimeoutExpired:
        raise DriverTimeoutError(f"{program} did not end in {PATIENCE_SECONDS} s") from None
    except OSError as error:
        raise NoDriverError(f"{found} cannot be run: {error}") from error
