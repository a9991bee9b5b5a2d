"""A node with an NVIDIA driver that is not there: root directory, `/proc`, `/sys` and `/dev`.

Every device node is a link to the null device, so that whatever is made from it is harmless.
"""

import os
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from nodeagent.cdi.driver_root import DriverRoot
from nodeagent.cdi.hooks import HookProgram
from nodeagent.cdi.nvidia import CONTROL_NODES, NvidiaEdits

VERSION: Final = "570.86.15"
LIBRARIES: Final = "usr/lib/x86_64-linux-gnu"
NAMES: Final = ("libcuda", "libnvidia-ml", "libnvidia-ptxjitcompiler", "libGLX_nvidia")
CAPS_MAJOR: Final = 507
HOOK: Final = HookProgram("/plugins/nvidia-cdi-hook")


@dataclass(frozen=True, slots=True)
class FakeDriver:
    """The files of one driver below one directory."""

    folder: Path
    on_host: PurePosixPath | None = None
    """Where the host sees the root; `None`: where it really is."""

    @property
    def files(self) -> Path:
        return self.folder / "root"

    @property
    def proc(self) -> Path:
        return self.folder / "proc"

    @property
    def sysfs(self) -> Path:
        return self.folder / "sys"

    @property
    def dev(self) -> Path:
        return self.files / "dev"

    @property
    def root(self) -> DriverRoot:
        return DriverRoot(self.on_host or PurePosixPath(self.files), self.files)

    def edits(self, hook: HookProgram | None = HOOK) -> NvidiaEdits:
        return NvidiaEdits.at(
            self.root, hook=hook, proc=self.proc, dev=self.folder / "dev", sysfs=self.sysfs
        )

    def library(self, name: str) -> Path:
        return self.files / LIBRARIES / name

    def install(self, version: str = VERSION) -> None:
        """Put the libraries of a version and their links in place of any other."""
        directory = self.files / LIBRARIES
        directory.mkdir(parents=True, exist_ok=True)
        for name in NAMES:
            for old in directory.glob(f"{name}.so*"):
                old.unlink()
            (directory / f"{name}.so.{version}").write_text(f"{name} {version}")
            (directory / f"{name}.so.1").symlink_to(f"{name}.so.{version}")
        (directory / "libcuda.so").symlink_to("libcuda.so.1")

    def load(self, version: str = VERSION) -> None:
        """Have the kernel say that the module of a version is loaded."""
        write(
            self.proc / "driver/nvidia/version",
            f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {version}  Thu Jan 23 2025\n"
            "GCC version:  gcc version 12.2.0 (Debian 12.2.0-14)\n",
        )

    def node(self, *names: str) -> None:
        """Make device nodes below `/dev`."""
        for name in names:
            path = self.dev / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.symlink_to("/dev/null")

    def instance(self, parent_minor: int, gpu_instance: int, *, minors: tuple[int, int]) -> None:
        """Have the driver know a MIG instance with compute instance 0."""
        gi = f"gpu{parent_minor}/mig/gi{gpu_instance}"
        self.capability(f"{gi}/access", minors[0])
        self.capability(f"{gi}/ci0/access", minors[1])

    def capability(self, name: str, minor: int) -> None:
        write(
            self.proc / "driver/nvidia/capabilities" / name,
            f"DeviceFileMinor: {minor}\nDeviceFileMode: 292\nDeviceFileModify: 1\n",
        )

    def graphics(self, pci_bus_id: str, *names: str) -> None:
        """Give a GPU DRM nodes."""
        for name in names:
            (self.sysfs / "bus/pci/devices" / pci_bus_id / "drm" / name).mkdir(parents=True)
        self.node(*(f"dri/{name}" for name in names))


def a_driver(
    folder: Path,
    *,
    on_host: PurePosixPath | None = None,
    gpus: int = 2,
    caps_major: int = CAPS_MAJOR,
) -> FakeDriver:
    """Make a node whose driver is loaded and installed, with some GPUs."""
    driver = FakeDriver(folder, on_host)
    driver.install()
    a_proc(driver, caps_major=caps_major)
    driver.node(*CONTROL_NODES, *(f"nvidia{minor}" for minor in range(gpus)))
    write(driver.files / "usr/bin/nvidia-smi", "#!/bin/sh\n", mode=0o755)
    write(driver.files / f"usr/lib/firmware/nvidia/{VERSION}/gsp_ga10x.bin", "firmware")
    (driver.files / "lib").symlink_to("usr/lib")
    (driver.files / "lib64").symlink_to(LIBRARIES)
    return driver


def a_proc(driver: FakeDriver, *, caps_major: int = CAPS_MAJOR) -> None:
    """Have the kernel say that the driver is loaded, with its numbers."""
    driver.load()
    write(
        driver.proc / "devices",
        "Character devices:\n  1 mem\n195 nvidia\n"
        f"234 nvidia-caps-imex-channels\n{caps_major} nvidia-caps\n\n"
        "Block devices:\n  8 sd\n999 nvidia-caps\n",
    )
    driver.capability("mig/config", 1)
    driver.capability("mig/monitor", 2)


def write(path: Path, content: str, *, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    path.chmod(mode)


def null_numbers() -> tuple[int, int]:
    """Return major and minor of the null device here."""
    found = Path("/dev/null").stat()
    return os.major(found.st_rdev), os.minor(found.st_rdev)
