"""Plan what is due, one after the other, each on the world with the plans before it.

Plans are made in the order of the queue (priority, age, name). Between two rounds the world
changes only by what is told to it, so that rounds with the same world and queue make the same
plans. What is not to be written is told of, and waits for what could change that.

A pod or claim that trips planning over something in it is passed over, so that the others do
not wait for it to be mended; errors of database and Redis end the window.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import structlog

from dra_console.allocator.api_json import object_of
from dra_console.allocator.errors import AllocatorError
from dra_console.allocator.model import AllocationResult, JsonObject, ResourceClaim
from dra_console.kube.client import Client
from dra_console.kube.errors import ApiError
from dra_console.kube.kinds import RESOURCE_CLAIMS
from dra_console.leases import Lease
from dra_console.scheduling.allocating.counts import Counts
from dra_console.scheduling.allocating.ended_consumers import EndedConsumers
from dra_console.scheduling.allocating.pending import Pending
from dra_console.scheduling.allocating.pod_claims import claim_names_of
from dra_console.scheduling.allocating.queueing import Item, Queue, What
from dra_console.scheduling.allocating.refusing import Refuser
from dra_console.scheduling.allocating.resident import Resident
from dra_console.scheduling.planning.plan import plan_pod
from dra_console.scheduling.planning.plans import NotPlaced, Placed, Refused, Undecided
from dra_console.scheduling.planning.wishes import PodWish, wish_of_claim, wish_of_pod
from dra_console.scheduling.writing.plan import Plan, PlannedClaim, PodToBind
from dra_console.scheduling.writing.releasing import free_in_the_way
from dra_console.scheduling.writing.sending import Writer

PLANS_AT_MOST: Final = 128
"""Written side by side; the rest is next, so that nobody waits for thousands before him."""

PLANNING_SECONDS: Final = 0.1
"""After so long the plans that there are go out first."""

MALFORMED: Final = (
    AllocatorError,
    ArithmeticError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
)
"""How an object of an unexpected shape shows."""

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Draft:
    """A plan that was made and is to be written."""

    item: Item
    tries: int
    plan: Plan
    assumed: tuple[str, ...]
    """Keys of the claims that it allocates."""


@dataclass(slots=True)
class Drafter:
    """Makes the plans of one world's queue."""

    client: Client
    lease: Lease
    resident: Resident
    queue: Queue
    counts: Counts
    _refuser: Refuser = field(init=False)
    _ended: EndedConsumers = field(init=False)

    def __post_init__(self) -> None:
        """Know of no pods that have ended yet."""
        self._refuser = Refuser(self.client, self.resident, self.queue, self.counts)
        self._ended = EndedConsumers(self.resident.cluster)

    def forget(self, item: Item) -> None:
        """Say anew why it waits, should it ever wait again."""
        self._refuser.forget(item)

    def draft(self, due: Mapping[Item, int]) -> list[Draft]:
        """Plan what is due, for as long as a round may take."""
        drafts: list[Draft] = []
        ends_at = time.monotonic() + PLANNING_SECONDS
        waiting = iter(sorted(due, key=self._order))
        for item in waiting:
            try:
                draft = self._try(item, due[item])
            except MALFORMED as error:
                log.exception("passed over", item=item.key)
                self._refuser.park(item, due[item], str(error) or type(error).__name__)
                continue
            if draft is not None:
                drafts.append(draft)
            if len(drafts) >= PLANS_AT_MOST or time.monotonic() >= ends_at:
                break
        self.queue.give_back(waiting)
        return drafts

    def _order(self, item: Item) -> tuple[int, str, str]:
        pending = self.pending(item)
        return (0, "", item.key) if pending is None else pending.order

    def pending(self, item: Item) -> Pending | None:
        """Return what waits, as it was seen last."""
        return self._refuser.pending(item)

    def _try(self, item: Item, tries: int) -> Draft | None:
        pending = self.pending(item)
        if pending is None:
            return None
        raw = pending.raw
        if item.what is What.CLAIM:
            if ended := self._ended.of(item.key, now=time.monotonic()):
                self._refuser.refuse(
                    item, tries, f"pod {ended} has ended and still names the claim"
                )
                return None
            return self._try_claims(item, tries, wish_of_claim(raw), (item.key,), pod=None)
        keys = []
        for own_name, name in claim_names_of(raw):
            key = f"{pending.key.partition('/')[0]}/{name}"
            if not name or self.resident.claim(key) is None:
                missing = f"claim {name}" if name else f"the claim for {own_name}"
                self._refuser.park(item, tries, f"{missing} does not exist yet")
                return None
            if self.resident.is_unreadable(key):
                self._refuser.park(item, tries, f"claim {name} cannot be read")
                return None
            keys.append(key)
        return self._try_claims(item, tries, wish_of_pod(raw), tuple(keys), pod=raw)

    def _try_claims(
        self,
        item: Item,
        tries: int,
        wish: PodWish | Refused,
        keys: tuple[str, ...],
        *,
        pod: JsonObject | None,
    ) -> Draft | None:
        if isinstance(wish, Refused):
            self._refuser.refuse(item, tries, wish.reason)
            return None
        claims = [claim for key in keys if (claim := self.resident.claim(key)) is not None]
        planned = plan_pod(
            self.resident.board,
            wish,
            claims,
            in_flight={each.uid for each in claims if self.resident.is_assumed(each.key)},
        )
        self.counts.planned += 1
        if not isinstance(planned, Placed):
            self._not_placed(item, tries, planned, pod)
            return None
        allocations = {
            key: planned.allocations[claim.uid]
            for key, claim in zip(keys, claims, strict=True)
            if claim.uid in planned.allocations
        }
        plan = self._plan(planned.node_name, keys, allocations, pod=pod)
        if plan is None:
            self.queue.park(item, now=time.monotonic(), tries=tries)
            return None
        self.resident.assume(allocations)
        if pod is not None:
            self.resident.board.take_pod(wish, node_name=planned.node_name)
        return Draft(item, tries, plan, tuple(allocations))

    def _plan(
        self,
        node_name: str,
        keys: Sequence[str],
        allocations: Mapping[str, AllocationResult],
        *,
        pod: JsonObject | None,
    ) -> Plan | None:
        """Make of a placement what is to be written; `None`: a claim has changed meanwhile."""
        claims: list[PlannedClaim] = []
        for key in keys:
            if key in allocations:
                claims.append(
                    PlannedClaim(self.resident.claims[key].raw, allocations[key].to_json())
                )
            elif (raw := self._allocated(key)) is not None:
                claims.append(PlannedClaim(raw, None))
            else:
                return None
        if pod is None:
            return Plan(claims, None)
        return Plan(claims, PodToBind.of(pod, node_name=node_name))

    def _allocated(self, key: str) -> JsonObject | None:
        """Read a claim that has its devices already, unless it is another one by now."""
        namespace, _, name = key.partition("/")
        try:
            raw = self.client.get(RESOURCE_CLAIMS, name, namespace=namespace)
        except ApiError as error:
            log.info("claim not read", claim=key, reason=str(error))
            return None
        known = self.resident.claim(key)
        self.resident.put_claim(raw)
        now = self.resident.claim(key)
        if known is None or now is None or known.allocation is None:
            return None
        is_same = (known.uid, known.allocation) == (now.uid, now.allocation)
        return raw if is_same else None

    def _not_placed(
        self,
        item: Item,
        tries: int,
        planned: NotPlaced | Refused | Undecided,
        pod: JsonObject | None,
    ) -> None:
        """Say why, and let it wait for what could change that."""
        self._refuser.not_placed(item, tries, planned.reason)
        if isinstance(planned, NotPlaced) and pod is not None and planned.unavailable:
            self._free_in_the_way(pod, planned.unavailable)

    def _free_in_the_way(self, pod: JsonObject, unavailable: Iterable[ResourceClaim]) -> None:
        """Free one allocated claim that keeps its own pod from every node (PostFilter)."""
        uid = str(object_of(pod.get("metadata")).get("uid", ""))
        for claim in unavailable:
            if {each.uid for each in claim.reserved_for} - {uid}:
                continue
            raw = self._allocated(claim.key)
            if raw is not None:
                freed = free_in_the_way(
                    Writer(self.client, self.lease),
                    self.resident.cluster,
                    raw,
                    pod=PodToBind.of(pod, node_name=""),
                )
                if freed is not None:
                    self.resident.doubt_no_more(claim.key)
                    self.resident.put_claim(freed)
            return
