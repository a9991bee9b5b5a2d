"""Held devices that the inventory does not show any more, or wants emptied.

A driver that updates its pool shows it in part for a moment, so what is incomplete or gone
is told only after a while. Whether the hardware is gone, nobody here can know: the agent or
driver may be away, too.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Final

from dra_console.allocator.inventory import NO_EXECUTE, DeviceTaintRule
from dra_console.allocator.model import DeviceId, DeviceResult, PoolId, Taint
from dra_console.allocator.world.taints import taints_from, tolerates
from dra_console.scheduling.coexistence.facts import (
    PLAIN,
    HeldClaim,
    PoolFacts,
    World,
)
from dra_console.scheduling.coexistence.findings import (
    CLAIMS_NAMED,
    ClaimRef,
    Finding,
    FindingKind,
    Severity,
)

SETTLES_WITHIN: Final = timedelta(seconds=60)
"""A driver that restarts has published its pool again by then."""


def inventory_findings(world: World, pools: Mapping[PoolId, PoolFacts]) -> Iterator[Finding]:
    """Find held devices that vanished, are of an incomplete pool, or are to be emptied."""
    if world.slices is None:
        return
    taints = TaintsByRules(world.taint_rules)
    gone: defaultdict[PoolId, list[tuple[HeldClaim, DeviceResult]]] = defaultdict(list)
    in_part: defaultdict[PoolId, list[tuple[HeldClaim, DeviceResult]]] = defaultdict(list)
    for claim in world.claims:
        for result in claim.results:
            device_id = result.device_id
            pool_id = device_id.pool_id
            pool = pools.get(pool_id)
            device = pool.devices.get(device_id.device) if pool else None
            if pool is None or (device is None and pool.is_complete):
                gone[pool_id].append((claim, result))
            elif not pool.is_complete:
                in_part[pool_id].append((claim, result))
            for taint in (*(device or PLAIN).taints, *taints.on(device_id)):
                if taint.effect == NO_EXECUTE:
                    yield _to_be_emptied(claim, result, taint)
    for pool_id, uses in gone.items():
        yield _vanished(pool_id, uses, pool=pools.get(pool_id), nodes=world.nodes)
    for pool_id, uses in in_part.items():
        yield _incomplete(pool_id, uses, pool=pools[pool_id])


class TaintsByRules:
    """The taints that rules add to devices, without asking each rule about each device."""

    def __init__(self, rules: Sequence[DeviceTaintRule]) -> None:
        self._of_one: defaultdict[DeviceId, list[DeviceTaintRule]] = defaultdict(list)
        self._of_many: list[DeviceTaintRule] = []
        for rule in rules:
            if rule.driver is None or rule.pool is None or rule.device is None:
                self._of_many.append(rule)
            else:
                self._of_one[DeviceId(rule.driver, rule.pool, rule.device)].append(rule)

    def on(self, device_id: DeviceId) -> tuple[Taint, ...]:
        """List the taints of one device."""
        if not self._of_many and device_id not in self._of_one:
            return ()
        rules = (*self._of_one.get(device_id, ()), *self._of_many)
        return taints_from(rules, device_id=device_id)


def _vanished(
    pool_id: PoolId,
    uses: Sequence[tuple[HeldClaim, DeviceResult]],
    *,
    pool: PoolFacts | None,
    nodes: Mapping[str, bool | None] | None,
) -> Finding:
    names = {claim.node_name for claim, _ in uses}
    node = names.pop() if len(names) == 1 else ""
    facts = {"devices": str(len({result.device for _, result in uses}))}
    if pool is None:
        facts["whole_pool"] = "yes"
    else:
        facts["generation"] = str(pool.generation)
    if node and nodes is not None and node not in nodes:
        facts["missing_node"] = node
    devices = {result.device_id for _, result in uses}
    return Finding(
        kind=FindingKind.VANISHED_DEVICE,
        key=str(pool_id),
        severity=Severity.ATTENTION,
        claims=_refs(uses),
        pool=str(pool_id),
        device=devices.pop() if len(devices) == 1 else None,
        facts=facts,
        grace=SETTLES_WITHIN,
    )


def _incomplete(
    pool_id: PoolId, uses: Sequence[tuple[HeldClaim, DeviceResult]], *, pool: PoolFacts
) -> Finding:
    return Finding(
        kind=FindingKind.INCOMPLETE_POOL,
        key=str(pool_id),
        severity=Severity.ATTENTION,
        claims=_refs(uses),
        pool=str(pool_id),
        facts={
            "seen": str(pool.slices_seen),
            "expected": str(pool.slices_expected),
            "generation": str(pool.generation),
        },
        grace=SETTLES_WITHIN,
    )


def _to_be_emptied(claim: HeldClaim, result: DeviceResult, taint: Taint) -> Finding:
    """Describe a taint that evicts: by kube-controller-manager, whoever allocated."""
    tolerating = [each for each in result.tolerations if tolerates(each, taint)]
    seconds = [each.toleration_seconds for each in tolerating]
    facts = {"taint": str(taint), "consumers": str(len(claim.reserved_for))}
    if tolerating:
        limits = [each for each in seconds if each is not None]
        facts["tolerated"] = f"for {min(limits)} s" if limits else "for ever"
    return Finding(
        kind=FindingKind.NO_EXECUTE,
        key=f"{claim.uid} {result.device_id} {taint.key}={taint.value}",
        severity=Severity.INFORMATION if tolerating else Severity.ATTENTION,
        claims=(ClaimRef(claim.namespace, claim.name, claim.uid, f"request {result.request}"),),
        pool=str(result.device_id.pool_id),
        device=result.device_id,
        facts=facts,
    )


def _refs(uses: Sequence[tuple[HeldClaim, DeviceResult]]) -> tuple[ClaimRef, ...]:
    refs = sorted(
        (claim.namespace, claim.name, f"device {result.device}", claim.uid)
        for claim, result in uses
    )[:CLAIMS_NAMED]
    return tuple(ClaimRef(namespace, name, uid, note) for namespace, name, note, uid in refs)
