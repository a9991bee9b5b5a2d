"""Claims whose end would set matching devices free, and the world without one of them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from threading import Lock
from typing import Final, TypeAlias, TypeVar
from weakref import WeakKeyDictionary

from dra_console.allocator.inventory import DeviceId, Node
from dra_console.allocator.model import ResourceClaim
from dra_console.allocator.world.bookings import usage_of
from dra_console.allocator.world.index import Index
from dra_console.allocator.world.usage import Usage

DEVICES_LOOKED_AT: Final = 512
"""Taken devices, those of the closest nodes first, among whose holders the choice is made."""

Held = TypeVar("Held")
ClaimsByDevice: TypeAlias = Mapping[DeviceId, Sequence[ResourceClaim]]


@dataclass(frozen=True, slots=True)
class Holder:
    """A claim that holds devices which the pending claims could have, and where they are."""

    claim: ResourceClaim
    nodes: tuple[Node, ...]


def in_the_way(
    usage: Usage, taken: Iterable[tuple[DeviceId, tuple[Node, ...]]]
) -> Iterator[Holder]:
    """List the holders of taken devices, those that hold most of them first.

    Each device comes with the nodes that could use it.
    """
    claims: dict[str, ResourceClaim] = {}
    nodes: dict[str, dict[Node, int]] = {}
    for device_id, usable_on in islice(taken, DEVICES_LOOKED_AT):
        holder = usage.holders.get(device_id)
        for claim in (holder,) if holder else usage.sharers.get(device_id, ()):
            claims.setdefault(claim.key, claim)
            known = nodes.setdefault(claim.key, {})
            for node in usable_on:
                known[node] = known.get(node, 0) + 1
    most = {key: max(known.values(), default=0) for key, known in nodes.items()}
    for key in sorted(claims, key=lambda each: -most[each]):
        yield Holder(claims[key], tuple(nodes[key]))


def without(index: Index, ended: ResourceClaim, *, claims: Sequence[ResourceClaim]) -> Index:
    """Take one claim for ended; `claims` are all that the index counts as holding devices.

    Only the devices of this claim are looked at again: there may be thousands of others.
    """
    by_device = _claims_by_device(index, claims)
    own = {result.device_id for result in ended.allocation.results} if ended.allocation else set()
    others = {
        each.key: each
        for device_id in own
        for each in by_device.get(device_id, ())
        if each is not ended
    }
    again = usage_of(others.values(), rules=index.rules)
    usage = index.usage
    return replace(
        index,
        usage=Usage(
            holders=_with(usage.holders, again.holders, own),
            sharers=_with(usage.sharers, again.sharers, own),
            booked=_with(usage.booked, again.booked, own),
        ),
    )


def _with(
    before: Mapping[DeviceId, Held], again: Mapping[DeviceId, Held], devices: Iterable[DeviceId]
) -> Mapping[DeviceId, Held]:
    """Replace the entries of some devices."""
    after = dict(before)
    for device_id in devices:
        after.pop(device_id, None)
        if device_id in again:
            after[device_id] = again[device_id]
    return after


def _claims_by_device(index: Index, claims: Sequence[ResourceClaim]) -> ClaimsByDevice:
    with _lock:
        known = _kept.get(index)
    if known is None:
        found: dict[DeviceId, list[ResourceClaim]] = {}
        for claim in claims:
            for result in claim.allocation.results if claim.allocation else ():
                found.setdefault(result.device_id, []).append(claim)
        known = found
        with _lock:
            _kept[index] = known
    return known


_lock: Final = Lock()
_kept: Final[WeakKeyDictionary[Index, ClaimsByDevice]] = WeakKeyDictionary()
