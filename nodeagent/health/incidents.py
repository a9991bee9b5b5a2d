"""What happened to GPUs and is not over: faults that the driver tells of once.

A vital sign says of itself when it is over; an event does not. So each is remembered as an
incident, and forgotten only when the driver needs no recovery from it, the GPU is there and
nothing came for a while (node-agent.md 6.5). All functions are pure.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Final

from nodeagent.devices.events import DriverEvent, EventKind, RecoveryAction, Vitals
from nodeagent.devices.model import Device
from nodeagent.health import xids
from nodeagent.health.findings import SILENT_SECONDS, Finding, Grade

QUIET: Final = timedelta(seconds=60)
"""Without another event, before a fault may count as over."""

XIDS_KEPT: Final = 16
Place = tuple[int, int]
"""A GPU's memory slices from the first to before the second."""

PlaceOf = Callable[[str, int], Place | None]
"""Where a GPU instance lies, by GPU UUID and instance id; `None` if nobody knows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """One fault of one GPU, or of what lies at one place of it."""

    gpu_uuid: str
    finding: Finding
    at: datetime
    """When it came last, in UTC."""

    place: Place | None = None
    """`None`: the whole GPU, with all its partitions."""

    has_seen_reset: bool = False
    """The GPU was reset since, as far as its vital signs show."""

    def concerns(self, device: Device) -> bool:
        """Whether a device is, contains or overlaps what the fault is about."""
        if device.gpu.uuid != self.gpu_uuid:
            return False
        if self.place is None or device.partition is None:
            return True
        first, end = self.place
        return any(first <= memory_slice < end for memory_slice in device.partition.slices)


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenXid:
    """One error number as the driver told it, whatever it means."""

    xid: int
    at: datetime
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class Memory:
    """All that outlives one look."""

    incidents: tuple[Incident, ...] = ()
    xids: Mapping[str, tuple[SeenXid, ...]] = field(default_factory=lambda: MappingProxyType({}))
    """The last `XIDS_KEPT` of each GPU, oldest first."""


def with_events(
    memory: Memory,
    events: Iterable[DriverEvent],
    *,
    application_xids: frozenset[int],
    place_of: PlaceOf,
) -> Memory:
    """Take over what the driver told of."""
    for event in events:
        instance = event.gpu_instance_id
        place = None if instance is None else place_of(event.gpu_uuid, instance)
        if event.xid is not None:
            memory = _with_xid(memory, event, event.xid, place)
        finding = _finding(event, application_xids)
        if finding is not None:
            incident = Incident(gpu_uuid=event.gpu_uuid, finding=finding, at=event.at, place=place)
            memory = replace(memory, incidents=_with(memory.incidents, incident))
    return memory


def with_vitals(
    memory: Memory, *, before: Mapping[str, Vitals], now: Mapping[str, Vitals], at: datetime
) -> Memory:
    """Take over what vital signs show that is worth remembering: heat, and resets."""
    incidents = tuple(
        replace(one, has_seen_reset=True)
        if _was_reset(before.get(one.gpu_uuid), now.get(one.gpu_uuid))
        else one
        for one in memory.incidents
    )
    for vitals in now.values():
        if vitals.is_hot and vitals.age_seconds < SILENT_SECONDS:
            heat = Finding("thermal", "", Grade.INFORMS, "slows itself down: too hot")
            known = next(
                (i for i in incidents if i.gpu_uuid == vitals.gpu_uuid and i.finding == heat), None
            )
            # Not at each look: what is remembered is written to the disk.
            if known is None or at - known.at > QUIET / 2:
                incident = Incident(gpu_uuid=vitals.gpu_uuid, finding=heat, at=at)
                incidents = _with(incidents, incident)
    return replace(memory, incidents=incidents)


def without_what_is_over(
    memory: Memory, *, vitals: Mapping[str, Vitals], there: frozenset[str], at: datetime
) -> Memory:
    """Forget faults that are over; `there` are the UUIDs of the GPUs that are discovered."""
    # A clock that was set back must not keep a fault for ever.
    dated = tuple(replace(one, at=min(one.at, at)) for one in memory.incidents)
    latest: dict[str, datetime] = {}
    for one in dated:
        if one.finding.grade is Grade.FATAL:
            latest[one.gpu_uuid] = max(one.at, latest.get(one.gpu_uuid, one.at))
    kept = tuple(
        one
        for one in dated
        if one.gpu_uuid not in there
        or at - latest.get(one.gpu_uuid, one.at) < QUIET
        or at - one.at < QUIET
        or not _is_well_again(one, vitals.get(one.gpu_uuid))
    )
    return replace(memory, incidents=kept)


def _finding(event: DriverEvent, application_xids: frozenset[int]) -> Finding | None:
    if event.kind is EventKind.DOUBLE_BIT_ECC:
        text = f"double-bit ECC error at {_moment(event.at)}"
        return Finding("ecc", "double-bit", Grade.FATAL, text)
    xid = event.xid
    if xid is None or xid in application_xids or xid == xids.RECOVERY_ACTION_CHANGED:
        return None
    text = f"{xids.spelled(xid)} at {_moment(event.at)}"
    return Finding("xid", str(xid), Grade.FATAL, text)


def _with(incidents: tuple[Incident, ...], incident: Incident) -> tuple[Incident, ...]:
    """Put the newest at the end, in place of the same fault before."""
    return (
        *(
            one
            for one in incidents
            if (one.gpu_uuid, one.place, one.finding.key, one.finding.value)
            != (incident.gpu_uuid, incident.place, incident.finding.key, incident.finding.value)
        ),
        incident,
    )


def _with_xid(memory: Memory, event: DriverEvent, xid: int, place: Place | None) -> Memory:
    seen = (*memory.xids.get(event.gpu_uuid, ()), SeenXid(xid=xid, at=event.at, place=place))
    kept = {**memory.xids, event.gpu_uuid: seen[-XIDS_KEPT:]}
    return replace(memory, xids=MappingProxyType(kept))


def _was_reset(before: Vitals | None, now: Vitals | None) -> bool:
    if before is None or now is None or now.is_lost is not False:
        return False
    return bool(
        before.is_lost
        or (before.needs_reset and now.needs_reset is False)
        or _fell(before.ecc_corrected, now.ecc_corrected)
        or _fell(before.ecc_uncorrected, now.ecc_uncorrected)
    )


def _fell(was: int | None, now: int | None) -> bool:
    """Tell whether a counter began again: those since the driver was loaded do at a reset."""
    return was is not None and now is not None and now < was


def _is_well_again(incident: Incident, vitals: Vitals | None) -> bool:
    if vitals is None or vitals.age_seconds >= SILENT_SECONDS or vitals.is_lost is not False:
        return False
    if incident.finding.grade is not Grade.FATAL:
        return True
    if vitals.recovery_action is None:
        return incident.has_seen_reset
    return vitals.recovery_action is RecoveryAction.NONE


def _moment(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"
