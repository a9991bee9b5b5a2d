"""The thread that looks after the devices' health: asks, remembers, judges, and tells.

An event is noticed within a second and answered by a look at once; without any, the vital signs
are looked at every few seconds, which is also how a driver that hangs is noticed.
"""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Final

import structlog

from nodeagent.claims.entry import Entry
from nodeagent.devices.events import DriverEvent, Signs, Vitals
from nodeagent.devices.model import Inventory
from nodeagent.health import metrics
from nodeagent.health.assess import Evidence, Policy, assess
from nodeagent.health.incidents import (
    Memory,
    Place,
    with_events,
    with_vitals,
    without_what_is_over,
)
from nodeagent.health.report import DeviceHealth, HealthReport, Reports
from nodeagent.health.state_file import Kept

log = structlog.get_logger()

EVENT_SECONDS: Final = 1.0
VITALS_SECONDS: Final = 3.0
LOGGED_XIDS: Final = 20
"""So many a look; a storm says nothing new after that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What other parts of the agent know at this moment."""

    inventory: Callable[[], Inventory | None]
    absence: Callable[[], str | None]
    """Why there is no driver, if there is none."""

    entries: Callable[[], Mapping[str, Entry]]
    """The checkpoint's claims: which partition was made for whom."""


@dataclass(slots=True)
class Watcher:
    """Looks after the devices of one node. Safe between threads."""

    signs: Signs
    known: Known
    policy: Policy
    kept: Kept
    reports: Reports
    on_taints: Callable[[HealthReport], None]
    """Called after each look at which the taints may be others; must not block."""

    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    _memory: Memory = field(init=False)
    _vitals: Mapping[str, Vitals] = field(default_factory=lambda: MappingProxyType({}), init=False)
    _looking: threading.Lock = field(default_factory=threading.Lock, init=False)
    _stopping: threading.Event = field(default_factory=threading.Event, init=False)

    def __post_init__(self) -> None:
        self._memory = self.kept.read()

    @property
    def memory(self) -> Memory:
        """What happened and is not over, and the last error numbers."""
        return self._memory

    def run(self) -> None:
        """Look until stopped. Runs in a thread of its own."""
        due = time.monotonic()
        while not self._stopping.wait(EVENT_SECONDS):
            events = self.signs.events()
            if events or time.monotonic() >= due:
                self.on_taints(self.look(events))
                due = time.monotonic() + VITALS_SECONDS

    def stop(self) -> None:
        """End the thread at its next turn, and let nobody wait for a report any more."""
        self._stopping.set()
        self.reports.close()

    def look(self, events: tuple[DriverEvent, ...] = ()) -> HealthReport:
        """Judge all devices as they are now. Takes as long as the driver is given to answer."""
        with self._looking:
            events += self.signs.events()
            _tell(events, self.policy)
            absence = self.known.absence()
            if absence is None:
                found = {one.gpu_uuid: one for one in self.signs.vitals()}
            else:
                # Asking would load the library of a driver that somebody is replacing.
                found = dict(self._vitals)
            now = self.now()
            inventory = self.known.inventory()
            self._remember(events, found, inventory, now)
            before = self.reports.current()
            if inventory is not None:
                evidence = Evidence(vitals=found, memory=self._memory, at=now, absence=absence)
                self.reports.put(assess(inventory, evidence, policy=self.policy, before=before))
            report = self.reports.current()
            _log_changes(before, report)
            metrics.count_devices(report)
            ages = [one.age_seconds for one in found.values()]
            metrics.VITALS_AGE_SECONDS.set(max(ages, default=0.0))
            return report

    def _remember(
        self,
        events: tuple[DriverEvent, ...],
        vitals: Mapping[str, Vitals],
        inventory: Inventory | None,
        now: datetime,
    ) -> None:
        memory = with_events(
            self._memory,
            events,
            application_xids=self.policy.application_xids,
            place_of=lambda gpu, instance: self._place_of(inventory, gpu, instance),
        )
        memory = with_vitals(memory, before=self._vitals, now=vitals, at=now)
        devices = inventory.devices if inventory is not None else ()
        there = frozenset(device.gpu.uuid for device in devices)
        self._memory = without_what_is_over(memory, vitals=vitals, there=there, at=now)
        self._vitals = vitals
        self.kept.write(self._memory)

    def _place_of(self, inventory: Inventory | None, gpu_uuid: str, instance: int) -> Place | None:
        """Find a GPU instance: first among the partitions that claims have now."""
        for entry in self.known.entries().values():
            for device in entry.devices:
                slices = device.memory_slices
                is_it = (device.parent_uuid, device.gpu_instance_id) == (gpu_uuid, instance)
                if is_it and slices is not None and entry.holds_devices:
                    return slices.start, slices.stop
        for one in inventory.devices if inventory is not None else ():
            partition = one.partition
            if partition is None or partition.instance is None or one.gpu.uuid != gpu_uuid:
                continue
            if partition.instance.gpu_instance_id == instance:
                return partition.slices.start, partition.slices.stop
        return None


def _tell(events: tuple[DriverEvent, ...], policy: Policy) -> None:
    for event in events:
        if event.xid is not None:
            metrics.XIDS.labels(event.gpu_uuid, str(event.xid)).inc()
    for event in events[:LOGGED_XIDS]:
        log.warning(
            "gpu event",
            kind=event.kind.value,
            gpu=event.gpu_uuid,
            xid=event.xid,
            gpu_instance=event.gpu_instance_id,
            is_of_application=event.xid in policy.application_xids,
        )


def _log_changes(before: HealthReport, after: HealthReport) -> None:
    if before.number == after.number:
        return
    known: Mapping[str, DeviceHealth] = {one.device: one for one in before.devices}
    for one in after.devices:
        was = known.get(one.device)
        if was is None or (was.status, was.message) != (one.status, one.message):
            log.info(
                "device health", device=one.device, status=one.status.value, message=one.message
            )
