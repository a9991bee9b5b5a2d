"""Claims that do not end: stuck in deletion, reserved for the dead, or for nobody.

Where kube-controller-manager runs, its resourceclaim controller takes all of this back
within seconds, so what stands longer says that it does not run, or cannot.
"""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Final

from dra_console.scheduling.coexistence.consumers import Consumer, Use, consumers_of
from dra_console.scheduling.coexistence.facts import HeldClaim, World
from dra_console.scheduling.coexistence.findings import (
    ClaimRef,
    Finding,
    FindingKind,
    PodRef,
    Severity,
)

FINALIZER: Final = "resource.kubernetes.io/delete-protection"

DELETED_WITHIN: Final = timedelta(minutes=2)
"""Pods have 30 seconds to end, and are then stopped."""

CLEANED_WITHIN: Final = timedelta(minutes=1)
FORGOTTEN_AFTER: Final = timedelta(hours=1)
"""An allocation that nobody has reserved for so long is probably forgotten."""

PODS_NAMED: Final = 20


def claim_findings(world: World) -> Iterator[Finding]:
    """Find claims that nobody ends."""
    for claim in world.claims:
        consumers = consumers_of(claim, world)
        if claim.deletion_requested_at is not None:
            yield _stuck(claim, consumers)
        elif claim.reserved_for:
            yield from _stale(claim, consumers)
        elif claim.is_allocated:
            yield _unreserved(claim)


def _stuck(claim: HeldClaim, consumers: Sequence[Consumer]) -> Finding:
    blocker, severity, concerned = _blocker(claim, consumers)
    foreign = [each for each in claim.finalizers if each != FINALIZER]
    facts = {"blocker": blocker, "devices": str(len(claim.results))}
    if foreign:
        facts["finalizers"] = ", ".join(foreign)
    return Finding(
        kind=FindingKind.STUCK_DELETION,
        key=claim.uid,
        severity=severity,
        claims=(_ref(claim),),
        pods=_pods(concerned),
        facts=facts,
        since=claim.deletion_requested_at,
        grace=DELETED_WITHIN,
    )


def _blocker(
    claim: HeldClaim, consumers: Sequence[Consumer]
) -> tuple[str, Severity, Sequence[Consumer]]:
    """Name what has to happen first, and the consumers that it is about."""
    unknown = [each for each in consumers if each.use is Use.UNKNOWN]
    lost = [each for each in consumers if each.is_on_lost_node]
    using = [each for each in consumers if each.use is Use.USES]
    if unknown:
        return "unknown-consumer", Severity.ATTENTION, unknown
    if lost:
        return "lost-node", Severity.ATTENTION, lost
    if any(each.is_leaving for each in using):
        return "leaving-pod", Severity.ATTENTION, [each for each in using if each.is_leaving]
    if using:
        return "pod", Severity.INFORMATION, using
    if FINALIZER in claim.finalizers:
        return "no-controller", Severity.ATTENTION, consumers
    return "finalizer", Severity.ATTENTION, ()


def _stale(claim: HeldClaim, consumers: Sequence[Consumer]) -> Iterator[Finding]:
    done = [each for each in consumers if each.use is Use.DONE]
    if not done:
        return
    yield Finding(
        kind=FindingKind.STALE_RESERVATION,
        key=claim.uid,
        severity=Severity.ATTENTION,
        claims=(_ref(claim),),
        pods=_pods(done),
        facts={
            "done": str(len(done)),
            "consumers": str(len(consumers)),
            "devices": str(len(claim.results)),
        }
        | ({"unknown": "yes"} if any(each.use is Use.UNKNOWN for each in consumers) else {}),
        grace=CLEANED_WITHIN,
    )


def _unreserved(claim: HeldClaim) -> Finding:
    facts = {"devices": str(len(claim.results))}
    if claim.is_reserve_ahead:
        facts["reserve_ahead"] = "yes"
    return Finding(
        kind=FindingKind.UNRESERVED,
        key=claim.uid,
        severity=Severity.INFORMATION if claim.is_reserve_ahead else Severity.ATTENTION,
        claims=(_ref(claim),),
        facts=facts,
        since=claim.allocated_at,
        grace=FORGOTTEN_AFTER,
    )


def _ref(claim: HeldClaim) -> ClaimRef:
    return ClaimRef(claim.namespace, claim.name, claim.uid)


def _pods(consumers: Sequence[Consumer]) -> tuple[PodRef, ...]:
    return tuple(each.pod for each in consumers[:PODS_NAMED])
