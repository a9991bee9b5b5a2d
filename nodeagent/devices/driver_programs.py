"""Programs that come with the driver, run from its root, for what NVML itself does not do."""

import subprocess
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import structlog

from nodeagent.devices import driver_library
from nodeagent.devices.errors import (
    DevicesError,
    DriverTimeoutError,
    NoDriverError,
    UnsupportedError,
)

log = structlog.get_logger()

DIRECTORIES: Final = ("opt/bin", "usr/bin", "usr/sbin", "bin", "sbin")
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
    status, told = _run(
        driver_root,
        "nvidia-smi",
        ("compute-policy", "-i", gpu_uuid, "--set-timeslice", str(interval)),
    )
    if status != 0:
        kind = UnsupportedError if "not supported" in told.lower() else DevicesError
        raise kind(f"nvidia-smi ended with {status}: {told}")


def make_nodes(driver_root: Path, minors: Iterable[int]) -> bool:
    """Have `nvidia-modprobe` make the device nodes of GPUs; tell whether it could."""
    try:
        codes = [
            _run(driver_root, "nvidia-modprobe", ("-u", "-c", str(minor)))[0] for minor in minors
        ]
    except DevicesError as error:
        log.warning("device nodes not made", reason=str(error))
        return False
    return not any(codes)


def _run(driver_root: Path, program: str, arguments: tuple[str, ...]) -> tuple[int, str]:
    """Return a program's status and all that it said."""
    candidates = [driver_root / directory / program for directory in DIRECTORIES]
    found = next((path for path in candidates if path.exists()), None)
    if found is None:
        raise NoDriverError(f"no {program} in {', '.join(str(p.parent) for p in candidates)}")
    libraries = ":".join(str(place.parent) for place in driver_library.places(driver_root))
    try:
        process = subprocess.Popen(
            [found, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={"LD_LIBRARY_PATH": libraries, "PATH": "/usr/bin:/bin"},
        )
    except OSError as error:
        raise NoDriverError(f"{found} cannot be run: {error}") from error
    try:
        said, _ = process.communicate(timeout=PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        # One that hangs in the kernel ends when the kernel lets it; nobody waits for that here.
        threading.Thread(target=process.communicate, name=f"end-{program}", daemon=True).start()
        raise DriverTimeoutError(f"{program} did not end in {PATIENCE_SECONDS} s") from None
    return process.returncode, said.decode(errors="replace").strip()
