"""One cluster in memory, as plans see it, kept from round to round.

Claims and the pods that wait for the console come object by object, from a watch of the
window's own; nodes, slices, classes and taint rules from the mirror, whose versions say what
has changed. After any changes this is what reading all anew would give; tests hold the two
against each other.

What is planned counts at once (`assume`), what was written stays until the watch has shown it
(`settle`): older states of a claim, which may still be on their way, do not free its devices.

Not for several threads at once.
"""

from collections.abc import Collection, Iterable, Iterator, KeysView, Mapping
from dataclasses import replace
from typing import Final

from dra_console.allocator.api_json import object_of
from dra_console.allocator.model import AllocationResult, JsonObject, ResourceClaim
from dra_console.mirror import models as mirror
from dra_console.scheduling.allocating.claim_reading import ClaimsRead, read_claim
from dra_console.scheduling.allocating.inventory import Inventory
from dra_console.scheduling.allocating.pending import (
    Pending,
    is_reserved_ahead,
    key_in,
    pending_claim,
)
from dra_console.scheduling.allocating.waiting_pods import WaitingPods
from dra_console.scheduling.world.left_out import LeftOut


class Resident:
    """The world of one cluster."""

    def __init__(self, cluster: mirror.Cluster, claims: ClaimsRead) -> None:
        """Read the inventory beside the claims, of which those are told later that change."""
        self.cluster: Final = cluster
        self._inventory: Final = Inventory(cluster, claims.of.values())
        self.fleet: Final = self._inventory.fleet
        self.board: Final = self._inventory.board

        self.pods: Final = WaitingPods()
        self.claims: Final[dict[str, Pending]] = {}
        """Claims that lack devices, by key."""

        self.ahead: Final[set[str]] = set()
        """Keys of those that are to be reserved ahead."""

        self.gains = 0
        """Grows with every change that may let something fit that did not fit before."""

        self._truths: Final = dict(claims.of)
        self._unreadable: Final = dict(claims.unreadable)
        self._assumed: Final[dict[str, ResourceClaim]] = {}
        self._unseen: Final[dict[str, str]] = {}
        """UIDs of claims whose allocation was written and has not been seen since, by key."""

        self._answered: Final[dict[str, str]] = {}
        """Versions that the API server gave to our writes and no watch has shown yet, by key."""

        for raw in claims.pending:
            self._note_pending(key_in(raw), pending_claim(raw), is_ahead=is_reserved_ahead(raw))

    @property
    def left_out(self) -> list[LeftOut]:
        """List what cannot be read."""
        return [*self._unreadable.values(), *self._inventory.left_out]

    def comparing(self) -> Iterator[None]:
        """Bring the inventory in line with the mirror, of which every version is looked at.

        Takes time where there is much of it: one kind a step, and plans may be made in between.
        """
        for changed in self._inventory.comparing():
            self.gains += changed
            yield

    def compare_use(self, node_names: Collection[str] | None = None) -> None:
        """Read anew what pods, of whichever scheduler, take of these nodes, or of all."""
        self.gains += self._inventory.compare_use(node_names)

    def look_at(self, plural: str, keys: Collection[str] | None) -> None:
        """Bring some objects of a kind in line with the mirror, `None` for all."""
        self.gains += self._inventory.look_at(plural, keys)

    @property
    def claim_keys(self) -> KeysView[str]:
        """Return the keys of all claims."""
        return self._truths.keys()

    def claim(self, key: str) -> ResourceClaim | None:
        """Return a claim as plans are to see it."""
        return self._assumed.get(key) or self._truths.get(key)

    def put_claim(self, raw: JsonObject) -> bool:
        """Take a claim as it was seen; tell whether that is news to plans."""
        key = key_in(raw)
        if self._is_known(key, raw):
            return False
        # From here on this is what is true, so what was answered may be news again.
        self._answered.pop(key, None)
        before = self._truths.get(key)
        readable = None if key in self._unreadable else before
        claim, unreadable = read_claim(raw, before=readable)
        self._unseen.pop(key, None)
        if unreadable is None:
            self._unreadable.pop(key, None)
        else:
            self._unreadable[key] = unreadable
        pending = pending_claim(raw) if unreadable is None else None
        self._note_pending(key, pending, is_ahead=is_reserved_ahead(raw))
        self._truths[key] = claim
        assumed = self._assumed.get(key)
        if assumed is not None and claim.allocation is None and assumed.uid == claim.uid:
            return False
        self._assumed.pop(key, None)
        self.fleet.put_claim(claim)
        if before is not None and before.allocation is not None:
            self.gains += claim.allocation != before.allocation
        return True

    def remove_claim(self, key: str) -> None:
        """Forget a claim that is gone."""
        kept = (self.claims, self._assumed, self._unseen, self._unreadable, self._answered)
        for known in kept:
            known.pop(key, None)
        self.ahead.discard(key)
        claim = self._truths.pop(key, None)
        self.fleet.remove_claim(key)
        self.gains += claim is not None

    def assume(self, allocations: Mapping[str, AllocationResult]) -> None:
        """Count planned allocations, by the claim's key, as if they were written."""
        for key, allocation in allocations.items():
            claim = replace(self._truths[key], allocation=allocation)
            self._assumed[key] = claim
            self.fleet.put_claim(claim)

    def uid_of(self, key: str) -> str:
        """Return a claim's UID; empty if there is none."""
        claim = self._truths.get(key)
        return claim.uid if claim else ""

    def is_unreadable(self, key: str) -> bool:
        """Tell whether a claim cannot be read; then plans know its devices and nothing else."""
        return key in self._unreadable

    def is_assumed(self, key: str) -> bool:
        """Tell whether a plan with the claim is being written."""
        return key in self._assumed

    def settle(self, raw: JsonObject) -> None:
        """Take a claim as a write has left it, unless something newer was seen of it.

        Of an assumed claim that is what is true from now on.
        """
        key = key_in(raw)
        if self._assumed.pop(key, None) is None:
            return
        if self.put_claim(raw):
            self._answered[key] = _version_in(raw)
        claim = self._truths[key]
        if claim.allocation is not None:
            self._unseen[key] = claim.uid

    def believe(self, noted: JsonObject) -> None:
        """Count an allocation that was noted and may be written, until it is seen or settled.

        A note that still stands is newer than what the mirror shows of its claim, which may be
        nothing: windows watch for themselves, and may be ahead of it.
        """
        key = key_in(noted)
        claim, unreadable = read_claim(noted)
        if unreadable:
            return
        self._note_pending(key, None, is_ahead=False)
        self._truths[key] = claim
        self._unseen[key] = claim.uid
        self.fleet.put_claim(claim)

    def restore(self, keys: Collection[str]) -> None:
        """Count planned allocations no more."""
        for key in keys:
            if self._assumed.pop(key, None) is not None:
                self.fleet.put_claim(self._truths[key])
                self.gains += 1

    def decide(self, uids: Collection[str], live: Iterable[JsonObject]) -> list[str]:
        """Take claims of these UIDs, whose writes were in doubt, as they turned out to be.

        Those that are not among the live ones are gone. Returns the keys of all.
        """
        by_key = {key_in(raw): raw for raw in live}
        keys = [key for key, claim in self._truths.items() if claim.uid in uids]
        for key in keys:
            self._assumed.pop(key, None)
            self._unseen.pop(key, None)
            if key in by_key:
                self.put_claim(by_key[key])
            else:
                self.remove_claim(key)
            self.gains += 1
        return keys

    def doubt_no_more(self, key: str) -> None:
        """Believe again what is seen of a claim, whatever was written."""
        self._unseen.pop(key, None)

    def _is_known(self, key: str, raw: JsonObject) -> bool:
        """Tell of a claim before it is decoded that plans know better, or as well.

        Of what was written the watch brings back each state; most of what a window hears is
        its own.
        """
        metadata = object_of(raw.get("metadata"))
        if key in self._answered and self._answered[key] == metadata.get("resourceVersion"):
            del self._answered[key]
            self._unseen.pop(key, None)
            return True
        if object_of(raw.get("status")).get("allocation"):
            return False
        return key in self._unseen and self._unseen[key] == metadata.get("uid")

    def _note_pending(self, key: str, pending: Pending | None, *, is_ahead: bool) -> None:
        if pending is None:
            self.claims.pop(key, None)
        else:
            self.claims[key] = pending
        if pending is not None and is_ahead:
            self.ahead.add(key)
        else:
            self.ahead.discard(key)


def _version_in(claim: JsonObject) -> str:
    return str(object_of(claim.get("metadata")).get("resourceVersion", ""))
