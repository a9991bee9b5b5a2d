"""Which processes use a device that no claim of theirs holds: reported, never ended.

It happens with processes of the host, pods of a device plugin, privileged pods, and where a
legacy runtime gives GPUs to whoever asks by an environment variable (node-agent.md 6.9, 8:
faults 36 and 52). A process counts only when it was found twice, since the driver names it by an
id that may be another process's by the time that anybody looks.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

import prometheus_client
import structlog

from nodeagent.claims.entry import Entry
from nodeagent.devices.gpu_process import GpuProcess, ProcessLister
from nodeagent.usage.claim_pods import ClaimPods
from nodeagent.usage.procfs import Process, Procfs

log = structlog.get_logger()

MPS_SERVER: Final = "nvidia-cuda-mps"
"""As the kernel cuts the name: it computes for its clients, which are listed themselves."""

UNACCOUNTED: Final = prometheus_client.Gauge(
    "dra_nodeagent_unaccounted_processes",
    "Processes on devices that no claim of theirs holds",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnaccountedUse:
    """One process on one device that it should not be on."""

    device: str
    process: Process
    reason: str
    memory_bytes: int | None

    @property
    def identity(self) -> tuple[str, int, str]:
        """Device, process id and start time: the same use, whenever it is seen."""
        return self.device, self.process.pid, self.process.started


@dataclass(slots=True)
class Accounting:
    """Remembers what it saw at its last look."""

    lister: ProcessLister
    entries: Callable[[], Mapping[str, Entry]]
    pods: ClaimPods
    procfs: Procfs = field(default_factory=Procfs)
    _seen: frozenset[tuple[str, int, str]] = field(default=frozenset(), init=False)
    _lasting: tuple[UnaccountedUse, ...] = field(default=(), init=False)
    _is_hidden: bool = field(default=False, init=False)

    def look(self) -> tuple[UnaccountedUse, ...]:
        """Return the uses that were found at this look and at the one before; tell of new ones.

        Of a device whose processes the driver does not tell now, what was known stays.

        Raises:
            DevicesError: the driver could not be asked.

        """
        holding = [entry for entry in self.entries().values() if entry.holds_devices]
        listed = self.lister.processes()
        untold = {device for device, processes in listed.items() if processes is None}
        every = (one for processes in listed.values() for one in processes or ())
        found = tuple(self._judged(every, holding))
        lasting = tuple(one for one in found if one.identity in self._seen)
        told = {one.identity for one in self._lasting}
        for one in lasting:
            if one.identity not in told:
                _tell(one)
        kept = {identity for identity in self._seen if identity[0] in untold}
        self._seen = frozenset(one.identity for one in found) | kept
        self._lasting = (*lasting, *(one for one in self._lasting if one.device in untold))
        UNACCOUNTED.set(len(self._lasting))
        return self._lasting

    def _judged(
        self, listed: Iterable[GpuProcess], holding: list[Entry]
    ) -> "Iterable[UnaccountedUse]":
        for one in listed:
            process = self.procfs.find(one.pid)
            if process is None or process.name.startswith(MPS_SERVER):
                continue
            if process.is_hidden and process.owner is None:
                self._say_hidden()
                continue
            reason = self._reason(one.device, process, holding)
            if reason is not None:
                yield UnaccountedUse(
                    device=one.device,
                    process=process,
                    reason=reason,
                    memory_bytes=one.memory_bytes,
                )

    def _reason(self, device: str, process: Process, holding: list[Entry]) -> str | None:
        """Say why a use is not accounted for; `None`: it is, or it may be."""
        if process.owner is None:
            return "a process of the host"
        claims = [e for e in holding if any(own.device == device for own in e.devices)]
        answers = {self.pods.has(entry, process.owner.pod_uid) for entry in claims}
        if True in answers or None in answers:
            return None
        return "a pod whose claims do not hold it"

    def _say_hidden(self) -> None:
        if not self._is_hidden:
            log.warning(
                "processes cannot be told apart: the agent needs the host's cgroup namespace"
            )
        self._is_hidden = True


def _tell(use: UnaccountedUse) -> None:
    owner = use.process.owner
    log.warning(
        "unaccounted use of a device",
        device=use.device,
        by=use.reason,
        pid=use.process.pid,
        name=use.process.name,
        pod_uid=owner.pod_uid if owner else None,
        container=owner.container_id if owner else None,
        memory_bytes=use.memory_bytes,
    )
