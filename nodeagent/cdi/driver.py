"""What every container with an NVIDIA GPU gets of the driver: libraries, tools, sockets.

With a hook program the libraries keep their places and the hooks make links and the loader's
cache. Without one (degraded mode) they are bound into `/usr/local/nvidia/lib64` under each name
that they are asked for by, and `LD_LIBRARY_PATH` says so; that replaces what the image had set.

Looking through the driver root takes tens of milliseconds, so its answer is kept for up to five
minutes, as long as nothing that was looked at has changed. Only a whole answer is kept: an error
names what is missing, and the next call looks again (node-agent.md 3.6).
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Final, TypeAlias

from nodeagent.cdi.driver_root import DriverRoot
from nodeagent.cdi.hooks import HookProgram
from nodeagent.cdi.libraries import (
    DIRECTORIES,
    LD_CACHE,
    DriverLibraries,
    find_libraries,
    module_version,
    searched_directories,
)
from nodeagent.cdi.spec import READ_ONLY, ContainerEdits, Hook, Mount

BINARIES: Final = tuple(
    f"/usr/bin/{name}"
    for name in (
        "nvidia-smi",
        "nvidia-debugdump",
        "nvidia-persistenced",
        "nvidia-cuda-mps-control",
        "nvidia-cuda-mps-server",
    )
)
GRAPHICS: Final = (
    "/usr/share/glvnd/egl_vendor.d/10_nvidia.json",
    "/usr/share/egl/egl_external_platform.d/10_nvidia_wayland.json",
    "/usr/share/egl/egl_external_platform.d/15_nvidia_gbm.json",
    "/usr/share/vulkan/icd.d/nvidia_icd.json",
    "/usr/share/vulkan/implicit_layer.d/nvidia_layers.json",
    "/usr/share/nvidia/nvoptix.bin",
    "/etc/vulkan/icd.d/nvidia_icd.json",
    "/etc/vulkan/implicit_layer.d/nvidia_layers.json",
)
FIRMWARE: Final = "/lib/firmware/nvidia"
SOCKETS: Final = ("/run/nvidia-persistenced/socket", "/run/nvidia-fabricmanager/socket")
SOCKET_OPTIONS: Final = ("nosuid", "nodev", "rbind", "rprivate", "noexec")

WITHOUT_HOOKS: Final = "/usr/local/nvidia/lib64"
"""Where images built for GPUs look for libraries even without a loader cache."""

KEPT_SECONDS: Final = 300

Signature: TypeAlias = tuple[tuple[int, int] | None, ...]


@dataclass(frozen=True, slots=True)
class _Kept:
    version: str
    looked_at: tuple[str, ...]
    signature: Signature
    found_at: float
    edits: ContainerEdits


@dataclass(slots=True)
class DriverFiles:
    """The driver of one root. Safe between threads."""

    root: DriverRoot
    proc: Path
    hook: HookProgram | None
    clock: Callable[[], float] = time.monotonic
    _kept: _Kept | None = field(default=None, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def edits(self) -> ContainerEdits:
        """Return mounts, hooks and environment.

        Raises:
            MissingDriverError: the driver is not loaded, or not installed wholly.

        """
        with self._lock:
            version = module_version(self.proc)
            if self._kept is not None and self._still_holds(self._kept, version):
                return self._kept.edits
            self._kept = None
            # Taken before the search: what changes meanwhile is seen by the next call.
            looked_at = self._looked_at(version)
            signature = self._signature(looked_at)
            edits = self._find(version)
            self._kept = _Kept(version, looked_at, signature, self.clock(), edits)
            return edits

    def _still_holds(self, kept: _Kept, version: str) -> bool:
        return (
            kept.version == version
            and self.clock() - kept.found_at < KEPT_SECONDS
            and kept.signature == self._signature(kept.looked_at)
        )

    def _find(self, version: str) -> ContainerEdits:
        libraries = find_libraries(self.root, version=version)
        files = self._mounts((*BINARIES, *GRAPHICS, *self._firmware(version)))
        sockets = self._mounts(SOCKETS, options=SOCKET_OPTIONS)
        if self.hook is None:
            rest = ContainerEdits(mounts=files + sockets)
            return _without_hooks(self.root, libraries).merged(rest)
        return ContainerEdits(
            env=(f"NVIDIA_CTK_LIBCUDA_DIR={libraries.cuda_directory}",),
            mounts=self._mounts(libraries.paths) + files + sockets,
            hooks=_hooks(self.hook, libraries),
        )

    def _mounts(
        self, driver_paths: Iterable[str], *, options: tuple[str, ...] = READ_ONLY
    ) -> tuple[Mount, ...]:
        """Bind what exists to its own place; a link is bound as the file that it ends at."""
        mounts = []
        for path in driver_paths:
            real = self.root.real(path)
            if real is not None:
                mounts.append(Mount(self.root.host_path(real), path, options))
        return tuple(mounts)

    def _firmware(self, version: str) -> tuple[str, ...]:
        directory = self.root.real(f"{FIRMWARE}/{version}")
        if directory is None:
            return ()
        names = sorted(file.name for file in self.root.seen(directory).glob("gsp*.bin"))
        return tuple(f"{FIRMWARE}/{version}/{name}" for name in names)

    def _looked_at(self, version: str) -> tuple[str, ...]:
        """Return all that a search depends on; a directory changes with its entries."""
        return (
            *DIRECTORIES,
            *searched_directories(self.root),
            LD_CACHE,
            f"{FIRMWARE}/{version}",
            *BINARIES,
            *GRAPHICS,
            *SOCKETS,
        )

    def _signature(self, looked_at: Iterable[str]) -> Signature:
        return tuple(_mark(self.root.seen(path)) for path in looked_at)


def _without_hooks(root: DriverRoot, libraries: DriverLibraries) -> ContainerEdits:
    names = {PurePosixPath(path).name: path for path in libraries.paths}
    names |= {PurePosixPath(link.path).name: link.library for link in libraries.links}
    return ContainerEdits(
        env=(f"LD_LIBRARY_PATH={WITHOUT_HOOKS}",),
        mounts=tuple(
            Mount(root.host_path(path), f"{WITHOUT_HOOKS}/{name}")
            for name, path in sorted(names.items())
        ),
    )


def _hooks(program: HookProgram, libraries: DriverLibraries) -> tuple[Hook, ...]:
    return (
        *program.symlinks((link.target, link.path) for link in libraries.links),
        *program.cuda_compatibility(libraries.version),
        *program.loader_cache(dict.fromkeys(_directories(libraries.paths))),
        *program.fixed_device_nodes(),
    )


def _directories(paths: Iterable[str]) -> Iterator[str]:
    return (str(PurePosixPath(path).parent) for path in paths)


def _mark(path: Path) -> tuple[int, int] | None:
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_ino, found.st_ctime_ns
