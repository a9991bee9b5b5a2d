"""Xids as the kernel's log has them: for whoever must not hold GPUs open to be told of events.

NVML's event set keeps every GPU of it open, and so keeps the driver that serves them from switching
MIG mode. The same errors stand in `/dev/kmsg`, in NVIDIA's documented form, since the last boot:

    NVRM: Xid (PCI:0000:3b:00 GPU-I:05): 94, pid=7194, ...

Reading begins at the oldest record that is left, so an agent that starts again knows what was.
"""

import os
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, NamedTuple

import structlog

from nodeagent.devices.events import DriverEvent, EventKind, Signs, Vitals
from nodeagent.devices.model import Inventory

log = structlog.get_logger()

KMSG: Final = Path("/dev/kmsg")
LONGEST_RECORD: Final = 8192
"""What the kernel writes at most; a shorter read fails instead of giving half of one."""

XID: Final = re.compile(
    r"^\d+,\d+,(?P<microseconds>\d+),[^;]*;NVRM: Xid \(PCI:(?P<address>[0-9a-f:]+)(?:\.0)?"
    r"(?: GPU-I:(?P<instance>\d+))?(?: GPU-CI:(?P<compute>\d+))?\): (?P<xid>\d+)\b",
    re.IGNORECASE,
)


class LoggedXid(NamedTuple):
    """One error as it stands in the log."""

    address: str
    """`dddd:bb:dd` in lower case: without the function, which is 0."""

    xid: int
    seconds_since_boot: float
    gpu_instance_id: int | None
    compute_instance_id: int | None


def xid_of(line: str) -> LoggedXid | None:
    """Read one record; `None`: it tells of something else."""
    found = XID.match(line)
    if found is None:
        return None
    return LoggedXid(
        address=found["address"].lower(),
        xid=int(found["xid"]),
        seconds_since_boot=int(found["microseconds"]) / 10**6,
        gpu_instance_id=None if found["instance"] is None else int(found["instance"]),
        compute_instance_id=None if found["compute"] is None else int(found["compute"]),
    )


@dataclass(slots=True)
class KernelLog:
    """The log, read from where the last reading ended; never waits.

    For one thread, and open until the process ends.
    """

    path: Path = KMSG
    _descriptor: int | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        try:
            self._descriptor = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            log.warning("kernel log not readable: errors of GPUs go unseen", reason=str(error))

    @property
    def is_open(self) -> bool:
        """Whether errors would be seen."""
        return self._descriptor is not None

    def lines(self) -> Iterator[str]:
        """Yield what is new."""
        while self._descriptor is not None:
            try:
                read = os.read(self._descriptor, LONGEST_RECORD)
            except BlockingIOError:
                return
            except BrokenPipeError:
                # Overwritten before it was read: the next one is the oldest that is left.
                continue
            if not read:
                return
            yield from read.decode(errors="replace").splitlines()


@dataclass(frozen=True, slots=True)
class LoggedGpus:
    """Signs of GPUs whose events come out of the kernel's log. Implements `Signs`."""

    gpus: Signs
    kernel_log: KernelLog
    inventory: Callable[[], Inventory | None]
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    monotonic: Callable[[], float] = time.monotonic

    def events(self) -> tuple[DriverEvent, ...]:
        """Return the errors of known GPUs; nothing is read before it is known which there are."""
        inventory = self.inventory()
        if inventory is None:
            return ()
        uuids = {
            device.gpu.pci_bus_id.rpartition(".")[0]: device.gpu.uuid
            for device in inventory.devices
            if device.gpu.pci_bus_id is not None
        }
        logged = (xid_of(line) for line in self.kernel_log.lines())
        return tuple(
            self._event(one, uuids[one.address])
            for one in logged
            if one is not None and one.address in uuids
        )

    def vitals(self) -> tuple[Vitals, ...]:
        """Return the vital signs; errors would be told of as long as the log can be read."""
        is_monitored = self.kernel_log.is_open
        return tuple(replace(one, is_monitored=is_monitored) for one in self.gpus.vitals())

    def _event(self, logged: LoggedXid, gpu_uuid: str) -> DriverEvent:
        age = timedelta(seconds=max(0.0, self.monotonic() - logged.seconds_since_boot))
        return DriverEvent(
            kind=EventKind.XID,
            gpu_uuid=gpu_uuid,
            at=self.now() - age,
            xid=logged.xid,
            gpu_instance_id=logged.gpu_instance_id,
            compute_instance_id=logged.compute_instance_id,
        )
