"""What goes wrong with simulated GPUs when a test, or a person at the demo, wants it to.

In process by methods. From outside by a file, read again when it changes:

    {"lost": ["gpu-0"], "xids": [{"gpu": "gpu-1", "xid": 79}], "recovery": {"gpu-1": 1},
     "hang": false}

Each entry of `xids` is raised once, in order; the list may only grow.
"""

import json
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nodeagent.devices.errors import DriverTimeoutError
from nodeagent.devices.events import DriverEvent, EventKind, RecoveryAction, Vitals
from nodeagent.devices.model import Gpu


@dataclass(slots=True)
class SimulatedFaults:
    """The faults of one node's GPUs, whose UUIDs or names (`gpu-0`) both identify them."""

    file: Path | None = None
    deadline_seconds: float = 2.0
    """How long a call waits while the driver hangs."""

    _lost: set[str] = field(default_factory=set, init=False)
    _recovery: dict[str, RecoveryAction] = field(default_factory=dict, init=False)
    _events: list[tuple[str, EventKind, int | None, int | None]] = field(
        default_factory=list, init=False
    )
    _told: set[str] = field(default_factory=set, init=False)
    _hangs_by_file: bool = field(default=False, init=False)
    _raised_by_file: int = field(default=0, init=False)
    _seen: tuple[int, int] | None = field(default=None, init=False)
    _runs: threading.Event = field(default_factory=threading.Event, init=False)

    def __post_init__(self) -> None:
        self._runs.set()

    def raise_xid(self, gpu: str, xid: int, *, gpu_instance_id: int | None = None) -> None:
        """Raise an Xid, of the whole GPU or of one of its GPU instances."""
        self._events.append((gpu, EventKind.XID, xid, gpu_instance_id))

    def recommend(self, gpu: str, action: RecoveryAction) -> None:
        """Have the driver recommend an action until it is another one."""
        self._recovery[gpu] = action
        self._events.append((gpu, EventKind.RECOVERY_ACTION, None, None))

    def lose(self, gpu: str) -> None:
        """Let a GPU fall off the bus."""
        self._lost.add(gpu)

    def find_again(self, gpu: str) -> None:
        """Bring a lost GPU back."""
        self._lost.discard(gpu)

    def hang(self) -> None:
        """Let every call hang until `release`."""
        self._runs.clear()

    def release(self) -> None:
        """Let the driver answer again."""
        self._runs.set()

    def pass_through(self) -> None:
        """Stand for one call to the driver.

        Raises:
            DriverTimeoutError: the driver hangs.

        """
        self._look()
        if self._hangs_by_file or not self._runs.wait(self.deadline_seconds):
            raise DriverTimeoutError("the simulated driver hangs")

    def is_lost(self, gpu: Gpu) -> bool:
        """Tell whether a GPU has fallen off the bus."""
        return not self._lost.isdisjoint((gpu.uuid, gpu.name))

    def events(self, gpus: Iterable[Gpu]) -> tuple[DriverEvent, ...]:
        """Return, once, what was raised."""
        self._look()
        uuids = {name: gpu.uuid for gpu in gpus for name in (gpu.uuid, gpu.name)}
        raised, self._events = self._events, []
        return tuple(
            DriverEvent(
                kind=kind,
                gpu_uuid=uuids[gpu],
                at=datetime.now(UTC),
                xid=xid,
                gpu_instance_id=instance,
                compute_instance_id=None if instance is None else 0,
            )
            for gpu, kind, xid, instance in raised
            if gpu in uuids
        )

    def vitals(self, gpu: Gpu) -> Vitals:
        """Return the health of one GPU now."""
        if self.is_lost(gpu):
            return Vitals(gpu_uuid=gpu.uuid, age_seconds=0.0, is_lost=True, is_monitored=True)
        action = self._recovery.get(gpu.uuid, self._recovery.get(gpu.name, RecoveryAction.NONE))
        return Vitals(
            gpu_uuid=gpu.uuid,
            age_seconds=0.0,
            is_lost=False,
            is_monitored=True,
            needs_reset=False,
            recovery_action=action,
            ecc_corrected=0,
            ecc_uncorrected=0,
            is_mig_mode_pending=False,
            is_hot=False,
            missing_nodes=(),
        )

    def _look(self) -> None:
        if self.file is None:
            return
        try:
            status = self.file.stat()
            seen = (status.st_mtime_ns, status.st_ino)
            if seen == self._seen:
                return
            written: dict[str, Any] = json.loads(self.file.read_text())
        except (OSError, ValueError):
            # Absent, or half written: the next look comes within a second.
            return
        self._seen = seen
        self._hangs_by_file = bool(written.get("hang"))
        told = set(written.get("lost", ()))
        self._lost = (self._lost - self._told) | told
        self._told = told
        xids = written.get("xids", [])
        for one in xids[self._raised_by_file :]:
            self.raise_xid(one["gpu"], one["xid"], gpu_instance_id=one.get("gpuInstance"))
        self._raised_by_file = len(xids)
        for gpu, number in written.get("recovery", {}).items():
            if self._recovery.get(gpu) != RecoveryAction(number):
                self.recommend(gpu, RecoveryAction(number))
