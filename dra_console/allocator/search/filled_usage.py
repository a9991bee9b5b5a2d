"""Who holds what once nodes are filled, without a claim for every pod that was placed."""

from collections.abc import Iterator, Mapping
from typing import Final

from dra_console.allocator.inventory import DeviceId
from dra_console.allocator.model import DeviceResult, ResourceClaim
from dra_console.allocator.quantity import Quantity
from dra_console.allocator.rules import Feature, Rules
from dra_console.allocator.search.filling import Filling
from dra_console.allocator.world.usage import Usage

NOTHING: Final[Mapping[str, Quantity]] = {}


def filled_usage(before: Usage, filling: Filling, *, holder: ResourceClaim, rules: Rules) -> Usage:
    """Add what was placed to what is held already; `holder` stands for all pods placed.

    What is shared is booked for each share; the rest is held as a whole.
    """
    holders = dict(before.holders)
    sharers = dict(before.sharers)
    booked = dict(before.booked)
    has_shares = rules.has(Feature.CONSUMABLE_CAPACITY)
    for device_id, result in _taken(filling):
        if result.admin_access:
            continue
        if not has_shares or result.share_id is None:
            holders.setdefault(device_id, holder)
            continue
        sharers[device_id] = (*sharers.get(device_id, ()), holder)
        amounts = dict(booked.get(device_id, NOTHING))
        for name, amount in (result.consumed_capacity or NOTHING).items():
            amounts[name] = amounts[name] + amount if name in amounts else amount
        booked[device_id] = amounts
    return Usage(holders, sharers, booked)


def _taken(filling: Filling) -> Iterator[tuple[DeviceId, DeviceResult]]:
    for each in filling.cases:
        picks = [
            pick
            for _, solution in each.pods
            for of_claim, _ in solution.claims or ()
            for pick in of_claim
        ]
        for record, case in each.members if picks else ():
            devices = record.devices
            for pick in picks:
                at = pick.position if case.positions is None else case.positions[pick.position]
                yield devices[at].id, pick.result
    for placed in filling.together:
        for allocation in placed.results:
            for result in allocation.results:
                yield result.device_id, result
