"""The program that finishes a container from outside: links, and the loader's cache.

Mounting libraries is not enough: a program asks for `libcuda.so.1`, and its loader looks into the
image's own cache. NVIDIA's `nvidia-cdi-hook` (or `nvidia-ctk hook`) makes the links and the cache
in the new container. It runs on the host, in the runtime's mount namespace, so it is copied to a
directory that we and the host call by the same name. Without it there are no hooks, and the
libraries go where many images look anyway (`driver.py`, degraded mode).
"""

import os
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

import structlog

from nodeagent.cdi.driver_root import DriverRoot
from nodeagent.cdi.spec import Hook
from nodeagent.durable import write_durably

log = structlog.get_logger()

STAGE: Final = "createContainer"
ENVIRONMENT: Final = ("NVIDIA_CTK_DEBUG=false",)
COPY: Final = "nvidia-cdi-hook"
PROGRAM_MODE: Final = 0o755
TOOLKIT: Final = "nvidia-ctk"
INSTALLED: Final = (
    "/usr/bin/nvidia-cdi-hook",
    "/usr/local/nvidia/toolkit/nvidia-cdi-hook",
    "/usr/bin/nvidia-ctk",
)
HELP_SECONDS: Final = 10

CREATE_SYMLINKS: Final = "create-symlinks"
UPDATE_LDCACHE: Final = "update-ldcache"
CUDA_COMPAT: Final = "enable-cuda-compat"
KEEP_DEVICE_NODES: Final = "disable-device-node-modification"
ALWAYS_THERE: Final = frozenset({CREATE_SYMLINKS, UPDATE_LDCACHE})
"""Every release has these; a container that asks an old one for others does not start."""


@dataclass(frozen=True, slots=True)
class HookProgram:
    """The program, and what it can do."""

    path: str
    """On the host."""

    commands: frozenset[str] = ALWAYS_THERE

    def symlinks(self, links: Iterable[tuple[str, str]]) -> tuple[Hook, ...]:
        """Make links in the container, each a target and a path."""
        options = [word for target, path in links for word in ("--link", f"{target}::{path}")]
        return (self._hook(CREATE_SYMLINKS, *options),) if options else ()

    def loader_cache(self, directories: Iterable[str]) -> tuple[Hook, ...]:
        """Have the container's loader find the libraries in these directories."""
        options = [word for directory in directories for word in ("--folder", directory)]
        return (self._hook(UPDATE_LDCACHE, *options),) if options else ()

    def cuda_compatibility(self, driver_version: str) -> tuple[Hook, ...]:
        """Let an image with newer CUDA libraries use its own compatibility package."""
        if CUDA_COMPAT not in self.commands:
            return ()
        return (self._hook(CUDA_COMPAT, f"--host-driver-version={driver_version}"),)

    def fixed_device_nodes(self) -> tuple[Hook, ...]:
        """Keep the driver's own tools in the container from making device nodes."""
        return (self._hook(KEEP_DEVICE_NODES),) if KEEP_DEVICE_NODES in self.commands else ()

    def _hook(self, command: str, *options: str) -> Hook:
        name = Path(self.path).name
        program = (name, "hook") if name == TOOLKIT else (name,)
        return Hook(STAGE, self.path, (*program, command, *options), ENVIRONMENT)


def find_hook(root: DriverRoot) -> HookProgram | None:
    """Use the program of a toolkit that is installed on the host, where we see the host's root."""
    if root.on_host != PurePosixPath("/"):
        return None
    found = next((path for path in INSTALLED if os.access(root.seen(path), os.X_OK)), None)
    return HookProgram(found, ALWAYS_THERE | _told_commands(root.seen(found))) if found else None


def install_hook(program: Path, directory: Path) -> HookProgram:
    """Copy the program into a directory that the host calls the same, and ask what it can do.

    Raises:
        OSError: it cannot be read, or the directory cannot be written.

    """
    content = program.read_bytes()
    copy = directory / (TOOLKIT if program.name == TOOLKIT else COPY)
    if not _holds(copy, content):
        write_durably(copy, content, mode=PROGRAM_MODE)
    return HookProgram(str(copy), ALWAYS_THERE | _told_commands(copy))


def _holds(file: Path, content: bytes) -> bool:
    try:
        return os.access(file, os.X_OK) and file.read_bytes() == content
    except OSError:
        return False


def _told_commands(program: Path) -> frozenset[str]:
    words = ("hook",) if program.name == TOOLKIT else ()
    try:
        told = subprocess.run(
            [program, *words, "--help"],
            capture_output=True,
            text=True,
            timeout=HELP_SECONDS,
            check=True,
        ).stdout
    except (OSError, subprocess.SubprocessError) as error:
        log.warning("cdi hook does not tell its commands", program=str(program), reason=str(error))
        return frozenset()
    return frozenset({CUDA_COMPAT, KEEP_DEVICE_NODES} & set(told.replace(",", " ").split()))
