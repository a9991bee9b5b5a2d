"""Claims that an edit would hit, and what becomes of each."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from dra_console.allocator.inventory import NO_EXECUTE, DeviceId, Taint
from dra_console.allocator.model import DeviceResult, ResourceClaim
from dra_console.allocator.world.taints import tolerates


class Fate(StrEnum):
    """What becomes of a claim and its pods."""

    EVICTED = "evicted"
    """Its pods leave at once."""

    EVICTED_LATER = "evicted-later"
    """It tolerates the taint for a time."""

    STAYS = "stays"
    """It keeps its devices, but nobody could get them now without a toleration."""

    TOLERATES = "tolerates"
    """The taint means nothing to it."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One claim with the devices of it that the edit is about."""

    claim: ResourceClaim
    devices: tuple[DeviceId, ...]
    fate: Fate
    seconds: int | None = None
    """After which its pods leave, if it tolerates the taint for a time."""

    @property
    def is_evicted(self) -> bool:
        return self.fate in {Fate.EVICTED, Fate.EVICTED_LATER}


def hit_by_taint(
    claims: Iterable[ResourceClaim], taint: Taint, *, devices: Collection[DeviceId]
) -> Iterator[Hit]:
    """Find the claims that have tainted devices, those that tolerate the taint included.

    The tolerations of the allocation count, not those of the claim: they were copied when it was
    made. Kubernetes deletes the pods of a claim if one of its devices is not tolerated.
    """
    for claim in claims:
        if claim.allocation is None:
            continue
        results = [each for each in claim.allocation.results if each.device_id in devices]
        if results:
            fate, seconds = _fate(results, taint)
            yield Hit(claim, tuple(each.device_id for each in results), fate, seconds)


def _fate(results: Iterable[DeviceResult], taint: Taint) -> tuple[Fate, int | None]:
    limits: list[int | None] = []
    for result in results:
        tolerating = [each for each in result.tolerations if tolerates(each, taint)]
        if not tolerating:
            is_evicting = taint.effect == NO_EXECUTE
            return (Fate.EVICTED if is_evicting else Fate.STAYS), None
        limits.append(_limit([each.toleration_seconds for each in tolerating]))
    bounded = [limit for limit in limits if limit is not None]
    if taint.effect != NO_EXECUTE or not bounded:
        return Fate.TOLERATES, None
    return Fate.EVICTED_LATER, min(bounded)


def _limit(seconds: Collection[int | None]) -> int | None:
    """Take the shortest of the times that tolerations of one device give, as Kubernetes does."""
    bounded = [each for each in seconds if each is not None]
    return max(min(bounded), 0) if bounded else None


def hit_by_loss(
    claims: Iterable[ResourceClaim], *, node: str, devices: Collection[DeviceId]
) -> Iterator[Hit]:
    """Find the claims that can be used on one node alone, or have devices of it."""
    for claim in claims:
        if claim.allocation is None:
            continue
        own = tuple(
            each.device_id for each in claim.allocation.results if each.device_id in devices
        )
        if own or _is_bound_to(claim, node):
            yield Hit(claim, own, Fate.EVICTED)


def _is_bound_to(claim: ResourceClaim, node: str) -> bool:
    selector = claim.allocation.node_selector if claim.allocation else None
    return selector is not None and any(
        field.operator == "In" and field.values == (node,)
        for term in selector.terms
        for field in term.match_fields
    )
