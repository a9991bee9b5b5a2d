"""The state that a simulated GPU keeps as a board would: partitions, modes, time slices.

The rules are the board's (node-agent.md 5.5), so a caller that breaks them fails here as it would
on hardware. With a file the state outlives the process, as hardware does, until the next boot.
"""

import json
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from nodeagent.devices.control import Instance
from nodeagent.devices.errors import (
    BusyError,
    NoDriverError,
    PlacementTakenError,
    UnsupportedError,
)
from nodeagent.devices.mig import Partition, counter_set, counters_drawn
from nodeagent.devices.model import Gpu, MigMode
from nodeagent.durable import write_durably

FILE_MODE: Final = 0o600
WHOLE_BOARD: Final = 0
"""Id of the GPU instance over a whole board; the others count from 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardState:
    """What one board keeps."""

    is_mig_on: bool
    instances: tuple[Instance, ...] = ()
    time_slice: int = 0
    is_exclusive: bool = False


@dataclass(slots=True)
class SimulatedMig:
    """The boards of one node. Safe between threads; implements the changes of `GpuControl`."""

    gpus: Mapping[str, Gpu]
    """By UUID, with every place where a partition may be."""

    file: Path | None = None
    boot_id: str = ""
    in_use: set[str] = field(default_factory=set)
    """UUIDs of GPUs and partitions that a process uses, as far as the simulation is told."""

    _boards: dict[str, BoardState] = field(init=False)
    _stamp: tuple[int, int] | None = field(default=None, init=False)
    """Inode and time of the file as last read or written; another agent may change it, too."""

    _lock: threading.RLock = field(default_factory=threading.RLock, init=False)

    def __post_init__(self) -> None:
        self._boards = {
            uuid: BoardState(is_mig_on=gpu.mig_mode is MigMode.ENABLED)
            for uuid, gpu in self.gpus.items()
        }
        self._look_again()

    def board(self, gpu_uuid: str) -> BoardState:
        """Return what a board keeps now."""
        with self._lock:
            self._look_again()
            try:
                return self._boards[gpu_uuid]
            except KeyError:
                raise NoDriverError(f"no GPU {gpu_uuid} on this node") from None

    def now(self, gpu: Gpu) -> Gpu:
        """Return a GPU with its mode and instances of this moment."""
        board = self.board(gpu.uuid)
        there = {(instance.profile_id, instance.start): instance for instance in board.instances}
        return replace(
            gpu,
            mig_mode=MigMode.ENABLED
            if board.is_mig_on
            else MigMode.DISABLED
            if gpu.mig_mode is MigMode.ENABLED
            else gpu.mig_mode,
            partitions=tuple(
                replace(partition, instance=there.get((partition.profile.id, partition.start)))
                for partition in gpu.partitions
            ),
        )

    def create_partition(self, gpu_uuid: str, profile_id: int, start: int) -> Instance:
        with self._lock:
            board = self.board(gpu_uuid)
            wanted = self._partition(gpu_uuid, profile_id, start)
            if wanted is None or not board.is_mig_on:
                raise UnsupportedError(f"{gpu_uuid} has no profile {profile_id} at slice {start}")
            existing = [self._partition(gpu_uuid, i.profile_id, i.start) for i in board.instances]
            if not _fits(wanted, [one for one in existing if one], self.gpus[gpu_uuid]):
                raise PlacementTakenError(f"{gpu_uuid} has no room for {wanted.profile.name}")
            instance = Instance(
                uuid=wanted.uuid or f"MIG-{gpu_uuid}-{profile_id}-{start}",
                gpu_instance_id=_free_id(wanted, board.instances),
                compute_instance_id=0,
                profile_id=profile_id,
                start=start,
            )
            self._keep(gpu_uuid, replace(board, instances=(*board.instances, instance)))
            return instance

    def destroy_partition(self, gpu_uuid: str, instance: Instance) -> None:
        with self._lock:
            board = self.board(gpu_uuid)
            if instance not in board.instances:
                return
            if instance.uuid in self.in_use:
                raise BusyError(f"{instance.uuid} is in use")
            left = tuple(one for one in board.instances if one != instance)
            self._keep(gpu_uuid, replace(board, instances=left))

    def set_mig_mode(self, gpu_uuid: str, enabled: bool) -> None:  # noqa: FBT001 - as in GpuControl
        with self._lock:
            board = self.board(gpu_uuid)
            if board.is_mig_on == enabled:
                return
            if not self.gpus[gpu_uuid].toggles_mig:
                raise UnsupportedError(f"{gpu_uuid} switches MIG mode only by a reset")
            if board.instances or gpu_uuid in self.in_use:
                raise BusyError(f"{gpu_uuid} is in use")
            self._keep(gpu_uuid, replace(board, is_mig_on=enabled))

    def set_time_slice(self, gpu_uuid: str, interval: int) -> None:
        with self._lock:
            board = self.board(gpu_uuid)
            if board.is_mig_on:
                raise UnsupportedError(f"{gpu_uuid} is in MIG mode: it has no time slice")
            self._keep(gpu_uuid, replace(board, time_slice=interval))

    def set_compute_mode(self, gpu_uuid: str, exclusive: bool) -> None:  # noqa: FBT001 - as in GpuControl
        with self._lock:
            self._keep(gpu_uuid, replace(self.board(gpu_uuid), is_exclusive=exclusive))

    def _partition(self, gpu_uuid: str, profile_id: int, start: int) -> Partition | None:
        places = self.gpus[gpu_uuid].partitions
        return next((p for p in places if (p.profile.id, p.start) == (profile_id, start)), None)

    def _keep(self, gpu_uuid: str, board: BoardState) -> None:
        self._boards[gpu_uuid] = board
        if self.file is not None:
            boards = {uuid: asdict(board) for uuid, board in self._boards.items()}
            written = json.dumps({"bootID": self.boot_id, "boards": boards}, indent=1)
            write_durably(self.file, written.encode(), mode=FILE_MODE)
            self._stamp = self._stamp_of_file()

    def _stamp_of_file(self) -> tuple[int, int] | None:
        if self.file is None or not self.file.exists():
            return None
        found = self.file.stat()
        return found.st_ino, found.st_mtime_ns

    def _look_again(self) -> None:
        stamp = self._stamp_of_file()
        if stamp is not None and stamp != self._stamp:
            self._boards.update(self._remembered(self.file))
            self._stamp = stamp

    def _remembered(self, file: Path | None) -> dict[str, BoardState]:
        if file is None:
            return {}
        written: dict[str, Any] = json.loads(file.read_text())
        if written["bootID"] != self.boot_id:
            return {}
        return {
            uuid: BoardState(
                is_mig_on=board["is_mig_on"],
                instances=tuple(Instance(**instance) for instance in board["instances"]),
                time_slice=board["time_slice"],
                is_exclusive=board["is_exclusive"],
            )
            for uuid, board in written["boards"].items()
            if uuid in self.gpus
        }


def _fits(wanted: Partition, existing: list[Partition], gpu: Gpu) -> bool:
    left = counter_set(gpu.profiles)
    for partition in (wanted, *existing):
        for counter, amount in counters_drawn(partition).items():
            left[counter] -= amount
    return all(amount >= 0 for amount in left.values())


def _free_id(wanted: Partition, existing: tuple[Instance, ...]) -> int:
    if wanted.profile.id == WHOLE_BOARD:
        return WHOLE_BOARD
    taken = {instance.gpu_instance_id for instance in existing}
    return next(number for number in range(1, 16) if number not in taken)
