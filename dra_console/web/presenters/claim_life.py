"""How far a claim has come: created, allocated, reserved, prepared, running; and when."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby

from django.urls import reverse

from dra_console.mirror.models import ObjectChange, Pod, ResourceClaim
from dra_console.scheduling.models import Attempt
from dra_console.telemetry.readings import PreparedDevice
from dra_console.web.presenters.claim_table import pods_reserved_for
from dra_console.web.presenters.live_state import LiveState


@dataclass(frozen=True, slots=True)
class Stage:
    """One station of a claim's life."""

    label: str
    is_reached: bool
    detail: str


@dataclass(frozen=True, slots=True)
class Happening:
    """One entry of the timeline."""

    at: datetime
    text: str
    detail: str


@dataclass(frozen=True, slots=True)
class Consumer:
    """A pod that uses or waits for the claim."""

    name: str
    address: str
    phase: str
    """Empty: the pod is reserved for but not mirrored, so not known."""

    node_name: str
    tone: str


PHASE_TONES = {"Running": "ok", "Pending": "warn", "Failed": "sick", "Succeeded": "plain"}


def stages_of(
    claim: ResourceClaim, *, prepared: Sequence[PreparedDevice] | None, pods: Sequence[Pod]
) -> tuple[Stage, ...]:
    """List the stations in order, with which of them are reached.

    `prepared` is None where it is not known.
    """
    running = [pod.name for pod in pods if pod.phase == "Running"]
    is_allocated = claim.allocation is not None
    return (
        Stage("Created", is_reached=True, detail=""),
        Stage("Allocated", is_allocated, claim.node_name if is_allocated else ""),
        Stage("Reserved", bool(claim.reserved_for), ""),
        Stage("Prepared", bool(prepared), "not known" if prepared is None else ""),
        Stage("Running", bool(running), ", ".join(running)),
    )


def consumers_of(claim: ResourceClaim, *, pods: Iterable[Pod]) -> tuple[Consumer, ...]:
    """List the pods that name the claim, and those that have it reserved."""
    by_name = {pod.name: pod for pod in pods}
    names = sorted({*by_name, *pods_reserved_for(claim)})
    return tuple(_consumer(claim.namespace, name, by_name.get(name)) for name in names)


def timeline_of(
    claim: ResourceClaim,
    *,
    changes: Iterable[ObjectChange],
    prepared: Iterable[PreparedDevice],
    attempts: Iterable[Attempt],
) -> tuple[Happening, ...]:
    """Merge what was seen to happen, newest first."""
    happenings = [_change(claim, change) for change in changes]
    happenings += [
        Happening(one.prepared_at, "prepared", f"{one.device} on {one.node_name}")
        for one in prepared
    ]
    newest_first = sorted(attempts, key=lambda attempt: attempt.last_at, reverse=True)
    happenings += [
        _tries(list(alike)) for _, alike in groupby(newest_first, key=lambda one: one.headline)
    ]
    return tuple(sorted(happenings, key=lambda one: one.at, reverse=True))


def _tries(alike: Sequence[Attempt]) -> Happening:
    """Tell of attempts in a row that said the same, newest first."""
    newest = alike[0]
    repeats = len(alike) - 1 + sum(attempt.repeats for attempt in alike)
    words = newest.headline
    if repeats:
        words += f" ({repeats} more {'try' if repeats == 1 else 'tries'} said the same)"
    return Happening(newest.last_at, "tried", words)


def _change(claim: ResourceClaim, change: ObjectChange) -> Happening:
    detail = change.detail
    at = change.seen_at
    words = ""
    if change.happened == "created":
        at = claim.created_at
        words = f"from template {claim.template_name}" if claim.template_name else ""
    elif "devices" in detail:
        words = ", ".join(str(device).rpartition("/")[2] for device in detail["devices"])
    elif "reserved_for" in detail:
        words = ", ".join(map(str, detail["reserved_for"]))
    elif "said" in detail:
        words = "; ".join(map(str, detail["said"]))
    if "more" in detail:
        words += f" and {detail['more']} more"
    return Happening(at, change.happened, words)


def phase_of(pod: Pod) -> str:
    """Say how far a pod is, as `kubectl get pods` does."""
    return pod.phase if pod.deletion_requested_at is None else "Terminating"


def silence_of_agent(
    claim: ResourceClaim, *, drivers: Collection[str], live: LiveState
) -> timedelta | None:
    """Say for how long the agent that serves a claim's devices has said nothing, if too long.

    None where it speaks, or where the devices are another driver's, whose agent is not known.
    """
    agent = live.agents.get(claim.node_name)
    if agent is None or agent.driver not in drivers or not agent.is_stale(live.now):
        return None
    return live.now - agent.last_seen_at


def _consumer(namespace: str, name: str, pod: Pod | None) -> Consumer:
    phase = phase_of(pod) if pod else ""
    return Consumer(
        name=name,
        address=reverse("web:pod", args=(namespace, name)),
        phase=phase,
        node_name=pod.node_name if pod else "",
        tone=PHASE_TONES.get(phase, "plain"),
    )
