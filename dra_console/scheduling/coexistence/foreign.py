"""Managed devices that another scheduler gave away.

The API server notes which client wrote an allocation (`metadata.managedFields`). Where it
does not, the consumers' `spec.schedulerName` says for whom it was written. Where neither
says anything, nothing is claimed.
"""

from collections.abc import Iterator
from typing import Final

from dra_console.allocator.model import DeviceId, Taint
from dra_console.scheduling.coexistence.facts import HeldClaim, World
from dra_console.scheduling.coexistence.findings import (
    ClaimRef,
    Finding,
    FindingKind,
    Severity,
)
from dra_console.scheduling.coexistence.inventory_findings import TaintsByRules
from dra_console.scheduling.names import MANAGED_TAINT_KEY, SCHEDULER_NAME

OUR_MANAGER: Final = SCHEDULER_NAME
"""The API server names a client's writes after its user agent, up to the first slash."""


def foreign_allocations(world: World) -> Iterator[Finding]:
    """Find claims that hold managed devices and were allocated by somebody else."""
    rules = [rule for rule in world.taint_rules if rule.taint.key == MANAGED_TAINT_KEY]
    if not rules:
        return
    by_rules = TaintsByRules(rules)
    for claim in world.claims:
        for result in claim.results:
            if result.admin_access:
                continue
            device_id = result.device_id
            mark = next(iter(by_rules.on(device_id)), None)
            scheduler = foreign_scheduler_of(claim, world) if mark else ""
            if mark and scheduler:
                yield _foreign(claim, device_id, mark, scheduler=scheduler)


def foreign_scheduler_of(claim: HeldClaim, world: World) -> str:
    """Name who allocated the claim if it was not the console; empty: it was, or nobody knows."""
    if claim.allocated_by:
        return "" if claim.allocated_by == OUR_MANAGER else claim.allocated_by
    pods = world.pods or {}
    names = {
        pod.scheduler_name
        for entry in claim.reserved_for
        if (pod := pods.get((claim.namespace, entry.name))) and pod.uid == entry.uid
    }
    return min(names) if names and SCHEDULER_NAME not in names else ""


def _foreign(claim: HeldClaim, device_id: DeviceId, mark: Taint, *, scheduler: str) -> Finding:
    return Finding(
        kind=FindingKind.FOREIGN,
        key=f"{claim.uid} {device_id}",
        severity=Severity.ATTENTION,
        claims=(ClaimRef(claim.namespace, claim.name, claim.uid),),
        pool=str(device_id.pool_id),
        device=device_id,
        facts={"scheduler": scheduler, "marked_at": mark.time_added or ""},
    )
