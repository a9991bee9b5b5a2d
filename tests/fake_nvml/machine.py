"""A machine with GPUs as the fake library sees it; a test changes it while programs run."""

import os
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.fake_nvml.library import SONAME, library_directory

XID: Final = 0x8
DOUBLE_BIT_ECC: Final = 0x2
RECOVERY_ACTION: Final = 0x8000


@dataclass(slots=True)
class FakeMachine:
    """One machine in a directory of its own: the library's files, `/sys`, `/dev`, driver root."""

    directory: Path
    gpus: dict[str, dict[str, object]] = field(default_factory=dict)
    """By UUID, in NVML's order: `board` and what differs from it (fields: `device.c`)."""

    settings: dict[str, object] = field(default_factory=dict)
    codes: dict[tuple[str, str], int] = field(default_factory=dict)
    """By function and GPU UUID, which may be empty for all."""

    delays: dict[str, int] = field(default_factory=dict)
    """Milliseconds by function; `*` for every one."""

    processes: list[tuple[str, int, int, int]] = field(default_factory=list)
    """GPU UUID, PID, bytes, GPU instance (-1: none)."""

    def __post_init__(self) -> None:
        for name in ("nvml", "sys/bus/pci/devices", "sys/devices", "root/dev", "root/usr/lib64"):
            (self.directory / name).mkdir(parents=True, exist_ok=True)
        self.install()
        self.write()

    @property
    def root(self) -> Path:
        """The driver root: its `usr/lib64` has the library."""
        return self.directory / "root"

    @property
    def sysfs(self) -> Path:
        return self.directory / "sys"

    @property
    def dev(self) -> Path:
        """The device nodes of the driver root, as a driver container has them."""
        return self.root / "dev"

    @property
    def environment(self) -> Mapping[str, str]:
        """What a program needs to find the machine; the library is found by the driver root."""
        return {**os.environ, "FAKE_NVML": str(self.directory / "nvml")}

    def install(self) -> None:
        """Put the library into the driver root."""
        target = self.root / "usr/lib64" / SONAME
        if not target.exists():
            target.symlink_to(library_directory() / SONAME)

    def uninstall(self) -> None:
        """Take the library away."""
        (self.root / "usr/lib64" / SONAME).unlink()

    def add(self, board: str, **words: object) -> str:
        """Add a GPU with its place in the PCI tree and its device node; return its UUID."""
        minor = words.setdefault("minor", len(self.gpus))
        bus = words.setdefault("bus", f"00000000:{0x10 + len(self.gpus):02X}:00.0")
        its_uuid = f"GPU-{uuid.uuid5(uuid.NAMESPACE_OID, f'{self.directory}/{bus}')}"
        self.gpus[its_uuid] = {"board": board, **words}
        self._add_to_pci_tree(str(bus).lower()[4:])
        for name in (f"nvidia{minor}", "nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"):
            if not (self.dev / name).exists():
                (self.dev / name).symlink_to("/dev/null")
        self.write()
        return its_uuid

    def change(self, gpu: str, **words: object) -> None:
        """Change what one GPU says of itself."""
        self.gpus[gpu].update(words)
        self.write()

    def raise_event(self, gpu: str, kind: int, data: int = 0, *, instance: int = -1) -> None:
        """Let the driver tell of something, an Xid for example."""
        place = f" {instance} 0" if instance >= 0 else ""
        with (self.directory / "nvml/events").open("a") as file:
            file.write(f"{gpu} {kind} {data}{place}\n")

    def has_partitions(self, *facts: str) -> None:
        """Set the boards' MIG state as somebody else left it (lines: `mig.c`)."""
        (self.directory / "nvml/mig").write_text("".join(f"{fact}\n" for fact in facts))

    def has_time_slices(self) -> None:
        """Put an `nvidia-smi` into the driver root that keeps time slices; none is set."""
        program = self.root / "usr/bin/nvidia-smi"
        program.parent.mkdir(exist_ok=True)
        program.write_text(f'#!/bin/sh\necho "$5" > {self.directory}/nvml/slice."$3"\n')
        program.chmod(0o755)
        for kept in (self.directory / "nvml").glob("slice.*"):
            kept.unlink()

    def time_slice(self, gpu: str) -> int:
        """Return a GPU's time slice."""
        kept = self.directory / f"nvml/slice.{gpu}"
        return int(kept.read_text()) if kept.exists() else 0

    def mig(self) -> list[str]:
        """Return the boards' MIG state."""
        file = self.directory / "nvml/mig"
        return sorted(file.read_text().splitlines()) if file.exists() else []

    def calls(self) -> list[str]:
        """Return the functions called since the last time, if the setting `log` is 1."""
        file = self.directory / "nvml/calls"
        if not file.exists():
            return []
        called = file.read_text().split()
        file.unlink()
        return called

    def write(self) -> None:
        """Let the library see the fields as they are now."""
        lines = [f"set {key} {value}" for key, value in self.settings.items()]
        for its_uuid, words in self.gpus.items():
            told = " ".join(f"{key}={value}" for key, value in words.items() if key != "board")
            lines.append(f"gpu {its_uuid} {words['board']} {told}")
        lines += [
            f"process {gpu} {pid} {size}" + (f" {instance} 0" if instance >= 0 else "")
            for gpu, pid, size, instance in self.processes
        ]
        lines += [f"code {name} {code} {gpu}" for (name, gpu), code in self.codes.items()]
        lines += [f"delay {name} {milliseconds}" for name, milliseconds in self.delays.items()]
        following = self.directory / "nvml/machine.next"
        following.write_text("".join(f"{line}\n" for line in lines))
        following.rename(self.directory / "nvml/machine")

    def _add_to_pci_tree(self, address: str) -> None:
        device = self.sysfs / "devices/pci0000:00/0000:00:01.0" / address
        device.mkdir(parents=True)
        (device / "numa_node").write_text("0\n")
        (device / "vendor").write_text("0x10de\n")
        (device / "class").write_text("0x030200\n")
        (self.sysfs / "bus/pci/devices" / address).symlink_to(device)
