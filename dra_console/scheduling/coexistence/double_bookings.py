"""Devices that were given away twice: the one thing that no API server refuses.

Exclusive use is a result without `shareID`; shares only may add up to what the device has.
Partitions are told by their counters. Admin access watches and holds nothing, so it never
counts. What is not published any more cannot be added up, and is told elsewhere.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from dra_console.allocator.model import DeviceId, DeviceResult, PoolId
from dra_console.allocator.quantity import Quantity
from dra_console.allocator.world.counters import Counter
from dra_console.scheduling.coexistence.facts import HeldClaim, PoolFacts, World
from dra_console.scheduling.coexistence.findings import (
    CLAIMS_NAMED,
    ClaimRef,
    Finding,
    FindingKind,
    Severity,
)

Uses: TypeAlias = Sequence[tuple[HeldClaim, DeviceResult]]


def double_bookings(world: World, pools: Mapping[PoolId, PoolFacts]) -> Iterator[Finding]:
    """Find devices, shares and partitions that were given to more than there is."""
    uses = _uses(world.claims)
    for device_id, of_device in uses.items():
        exclusive = [use for use in of_device if use[1].share_id is None]
        if exclusive and len(of_device) > 1:
            yield _twice(device_id, of_device)
        elif not exclusive:
            yield from _shared_beyond(device_id, of_device, pool=pools.get(device_id.pool_id))
    yield from _overdrawn(uses, pools)


def _uses(claims: Sequence[HeldClaim]) -> Mapping[DeviceId, Uses]:
    uses: defaultdict[DeviceId, list[tuple[HeldClaim, DeviceResult]]] = defaultdict(list)
    for claim in claims:
        for result in claim.results:
            if not result.admin_access:
                uses[result.device_id].append((claim, result))
    return uses


def _twice(device_id: DeviceId, uses: Uses) -> Finding:
    is_one = len({claim.uid for claim, _ in uses}) == 1
    return Finding(
        kind=FindingKind.DOUBLE_BOOKING,
        key=str(device_id),
        severity=Severity.HARM,
        claims=_refs(
            (claim, f"request {result.request}" + (", a share" if result.share_id else ""))
            for claim, result in uses
        ),
        pool=str(device_id.pool_id),
        device=device_id,
        facts={"claims": str(len({claim.uid for claim, _ in uses}))}
        | ({"one_claim": "yes"} if is_one else {}),
    )


def _shared_beyond(device_id: DeviceId, uses: Uses, *, pool: PoolFacts | None) -> Iterator[Finding]:
    device = pool.devices.get(device_id.device) if pool else None
    if device is None or device.capacity is None:
        return
    totals: dict[str, Quantity] = {}
    for _, result in uses:
        for name, amount in (result.consumed_capacity or {}).items():
            totals[name] = totals[name] + amount if name in totals else amount
    over = {
        name: amount
        for name, amount in totals.items()
        if amount.nanos > (device.capacity[name].nanos if name in device.capacity else 0)
    }
    if not over:
        return
    name, amount = next(iter(over.items()))
    yield Finding(
        kind=FindingKind.OVERDRAWN_CAPACITY,
        key=str(device_id),
        severity=Severity.HARM,
        claims=_refs(
            (claim, f"{name} {(result.consumed_capacity or {}).get(name, 0)}")
            for claim, result in uses
        ),
        pool=str(device_id.pool_id),
        device=device_id,
        facts={
            "capacity": name,
            "taken": str(amount),
            "published": str(device.capacity.get(name, 0)),
            "shares": str(len(uses)),
        },
    )


def _overdrawn(
    uses: Mapping[DeviceId, Uses], pools: Mapping[PoolId, PoolFacts]
) -> Iterator[Finding]:
    taken: defaultdict[PoolId, defaultdict[Counter, int]] = defaultdict(lambda: defaultdict(int))
    for device_id in uses:
        pool = pools.get(device_id.pool_id)
        if pool is None or not pool.counters:
            continue
        device = pool.devices.get(device_id.device)
        for draw in device.draws if device else ():
            taken[device_id.pool_id][draw.counter] += draw.amount.nanos
    for pool_id, of_pool in taken.items():
        published = pools[pool_id].counters
        over: defaultdict[str, dict[Counter, Quantity]] = defaultdict(dict)
        for counter, nanos in of_pool.items():
            if counter in published and nanos > published[counter].nanos:
                over[counter[0]][counter] = Quantity(nanos, published[counter].family)
        for counter_set, drawn in over.items():
            yield _overlap(pool_id, counter_set, drawn=drawn, pool=pools[pool_id], uses=uses)


def _overlap(
    pool_id: PoolId,
    counter_set: str,
    *,
    drawn: Mapping[Counter, Quantity],
    pool: PoolFacts,
    uses: Mapping[DeviceId, Uses],
) -> Finding:
    concerned = [
        (claim, device_name)
        for device_name, device in pool.devices.items()
        if any(draw.counter in drawn and draw.amount.nanos for draw in device.draws)
        for claim, _ in uses.get(DeviceId(*pool_id, device_name), ())
    ]
    amounts = [
        f"{name} {amount} of {pool.counters[counter_set, name]}"
        for (_, name), amount in sorted(drawn.items(), key=lambda entry: entry[0])
    ]
    return Finding(
        kind=FindingKind.OVERDRAWN_COUNTERS,
        key=f"{pool_id} {counter_set}",
        severity=Severity.HARM,
        claims=_refs((claim, f"device {device_name}") for claim, device_name in concerned),
        pool=str(pool_id),
        facts={"counter_set": counter_set, "amounts": ", ".join(amounts)},
    )


def _refs(concerned: Iterable[tuple[HeldClaim, str]]) -> tuple[ClaimRef, ...]:
    refs = sorted((claim.namespace, claim.name, note, claim.uid) for claim, note in concerned)[
        :CLAIMS_NAMED
    ]
    return tuple(ClaimRef(namespace, name, uid, note) for namespace, name, note, uid in refs)
