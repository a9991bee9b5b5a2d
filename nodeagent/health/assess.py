"""Judge every device of the node from what was found, what happened and what is known (pure).

A device has at most one taint of each key: the gravest finding speaks, of equal ones the newest.
Whatever is not known makes a device unknown; only what is known to be bad makes it unhealthy, and
that stays so while the driver cannot be asked (node-agent.md 6.5, 6.6).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from nodeagent.devices.events import Vitals
from nodeagent.devices.model import Device, Inventory
from nodeagent.devices.taint import Effect
from nodeagent.health import findings, xids
from nodeagent.health.findings import STATUS_OF, Finding, Grade
from nodeagent.health.incidents import Memory
from nodeagent.health.report import DeviceHealth, HealthReport, Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What the administrator decides about health."""

    driver: str
    """Domain of the taints."""

    fatal_effect: Effect = Effect.NO_SCHEDULE
    """`NoExecute` evicts the pods that use a device which cannot be trusted."""

    application_xids: frozenset[int] = xids.APPLICATION


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What one look found."""

    vitals: Mapping[str, Vitals]
    """By GPU UUID."""

    memory: Memory
    at: datetime
    absence: str | None = None
    """Why there is no driver to ask; `None` while there is one, as far as is known."""


NO_ANSWER_YET: Final = Finding("", "", Grade.UNWATCHED, findings.NOT_YET)


def assess(
    inventory: Inventory, evidence: Evidence, *, policy: Policy, before: HealthReport
) -> tuple[DeviceHealth, ...]:
    """Judge the devices, in their order; `before` says since when each was as it is."""
    known = {one.device: one for one in before.devices}
    judged = (
        _judged(device, tuple(_found(device, evidence)), at=evidence.at, policy=policy)
        for device in inventory.devices
    )
    return tuple(_since(one, known.get(one.device)) for one in judged)


def _found(device: Device, evidence: Evidence) -> Iterator[Finding]:
    """Yield what is to be said about a device, the newest incident first."""
    if evidence.absence is not None:
        yield findings.without_driver(evidence.absence)
    vitals = evidence.vitals.get(device.gpu.uuid)
    if vitals is not None:
        yield from findings.of_vitals(vitals)
    if vitals is None or vitals.is_monitored is None:
        yield NO_ANSWER_YET
    for incident in reversed(evidence.memory.incidents):
        if incident.concerns(device):
            yield incident.finding


def _judged(
    device: Device, found: tuple[Finding, ...], *, at: datetime, policy: Policy
) -> DeviceHealth:
    kept = _one_of_each_key(found)
    taints = (one.taint(policy.driver, fatal=policy.fatal_effect) for one in kept if one.key)
    return DeviceHealth(
        device=device.name,
        status=STATUS_OF[kept[0].grade] if kept else Status.HEALTHY,
        message="; ".join(one.text for one in kept),
        since=at,
        taints=tuple(sorted(taints)),
        uuid=device.uuid,
    )


def _since(judged: DeviceHealth, before: DeviceHealth | None) -> DeviceHealth:
    if before is None or (before.status, before.message) != (judged.status, judged.message):
        return judged
    return replace(judged, since=before.since)


def _one_of_each_key(found: Iterable[Finding]) -> list[Finding]:
    """Return the gravest finding of each key, the gravest first."""
    chosen: dict[str, Finding] = {}
    for one in sorted(found, key=lambda one: -one.grade):
        chosen.setdefault(one.key, one)
    return list(chosen.values())
