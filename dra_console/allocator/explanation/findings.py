"""How far the claims get on one node.

Verdicts are per device; counts, constraints and counters are matters of a set of devices.
So a node gets a finding of its own: the request that fails first, and the furthest point
that its devices reach. The findings also say which node came closest.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from dra_console.allocator.explanation.verdicts import RANKS, DeviceVerdict, Judge, Verdict
from dra_console.allocator.inventory import Node, PoolId
from dra_console.allocator.model import ALL_DEVICES, ResourceClaim
from dra_console.allocator.outcomes import Allocated
from dra_console.allocator.search.constraints import ConstraintState
from dra_console.allocator.search.search import search_node
from dra_console.allocator.search.wants import Want
from dra_console.allocator.world.counters import CounterLedger, Shortage
from dra_console.allocator.world.index import Index
from dra_console.allocator.world.pools import PublishedDevice

TOO_FEW: Final = "count"
MATCHED: Final = frozenset(
    {
        Verdict.TAINTED,
        Verdict.TAKEN,
        Verdict.CONSTRAINT,
        Verdict.COUNTERS,
        Verdict.NODE_FILTER,
        Verdict.FREE,
    }
)
CHECK_STEPS: Final = 10_000
"""Effort to find out whether a constraint is to blame."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Devices by verdict, as one want sees them."""

    want: Want
    counts: Mapping[Verdict, int]
    examples: Mapping[Verdict, str]
    """Evidence of the first device with the verdict."""

    @property
    def matched(self) -> int:
        """Devices of the class that pass the selectors."""
        return sum(self.counts.get(verdict, 0) for verdict in MATCHED)

    @property
    def free(self) -> int:
        return self.counts.get(Verdict.FREE, 0)

    @property
    def wanted(self) -> int:
        """Devices that it takes; in mode All every one that matches, and at least one."""
        wish = self.want.wish
        return max(self.matched, 1) if wish.allocation_mode == ALL_DEVICES else wish.count

    @property
    def is_enough(self) -> bool:
        return self.free >= self.wanted

    @property
    def furthest(self) -> Verdict:
        """The verdict nearest to `free` among the devices that are not free."""
        held_up = [each for each, count in self.counts.items() if count and each != Verdict.FREE]
        return max(held_up, key=RANKS.__getitem__, default=Verdict.CLASS_MISMATCH)


@dataclass(frozen=True, slots=True)
class Finding:
    """`reason` as in `NodeAccount`; `closeness` orders nodes, the greatest came closest.

    `standing` is that of the request that fails on its own. Without one, each request alone
    would fit, and `together` says in words why all of them do not.
    """

    reason: str
    summary: str
    closeness: tuple[int, int]
    standing: Standing | None = None
    together: str = ""


def standing_of(want: Want, verdicts: Iterable[DeviceVerdict]) -> Standing:
    """Count the verdicts that devices got for one want."""
    counts: Counter[Verdict] = Counter()
    examples: dict[Verdict, str] = {}
    for verdict in verdicts:
        counts[verdict.verdict] += 1
        examples.setdefault(verdict.verdict, verdict.evidence)
    return Standing(want, counts, examples)


@dataclass(frozen=True, slots=True)
class Finder:
    """Finds out what is missing on a node where the claims do not fit."""

    index: Index
    claims: Sequence[ResourceClaim]
    judge: Judge

    def find(self, node: Node, devices: Sequence[PublishedDevice]) -> Finding:
        """Look at the devices that the node can use."""
        standings = self._standings(devices)
        for request in standings:
            if not any(standing.is_enough for standing in request):
                return max(map(_lacking, request), key=lambda finding: finding.closeness)
        if any(claim.spec.constraints for claim in self.claims):
            finding = self._constrained(node, devices)
            if finding is not None:
                return finding
        return self._competing(node, devices, [request[0] for request in standings])

    def _standings(self, devices: Sequence[PublishedDevice]) -> list[list[Standing]]:
        requests: dict[tuple[str, str], list[Standing]] = {}
        for want in self.judge.wants:
            standing = standing_of(
                want, (self.judge.judge_for(want, each, out_of_reach="") for each in devices)
            )
            requests.setdefault((want.claim.key, want.request), []).append(standing)
        return list(requests.values())

    def _constrained(self, node: Node, devices: Sequence[PublishedDevice]) -> Finding | None:
        """Blame the constraint without which the node would do, or the first of several."""
        for claim in self.claims:
            for number in range(len(claim.spec.constraints)):
                rest = without_constraint(claim, number)
                if self._fits([rest if each is claim else each for each in self.claims], node):
                    return self._blamed(claim, number, devices)
        if self._fits([without_constraints(each) for each in self.claims], node):
            constrained = next(claim for claim in self.claims if claim.spec.constraints)
            return self._blamed(constrained, 0, devices)
        return None

    def _fits(self, claims: Sequence[ResourceClaim], node: Node) -> bool:
        outcome = search_node(self.index, claims, node=node, step_budget=CHECK_STEPS)
        return isinstance(outcome, Allocated)

    def _blamed(
        self, claim: ResourceClaim, number: int, devices: Sequence[PublishedDevice]
    ) -> Finding:
        constraint = claim.spec.constraints[number]
        attribute = constraint.match_attribute or constraint.distinct_attribute or ""
        covered = [
            want
            for want in self.judge.wants
            if want.claim is claim and ConstraintState(constraint).covers(want.label)
        ]
        free = [
            published
            for published in devices
            if any(self._is_free(want, published) for want in covered)
        ]
        values = Counter(published.facts.attribute(attribute) for published in free)
        wanted = sum({want.request: want.wish.count for want in covered}.values())
        if constraint.match_attribute is not None:
            words = f"the same {attribute}"
            largest = f"the largest group with {words} is {max(values.values(), default=0)}"
        else:
            words = f"different {attribute}"
            largest = f"they have {len(values)} different values of {attribute}"
        return Finding(
            reason=Verdict.CONSTRAINT.value,
            summary=f"{len(free)} free; {largest}",
            closeness=(len(RANKS) + 1, len(free)),
            together=f"no node has {wanted} with {words}",
        )

    def _competing(
        self, node: Node, devices: Sequence[PublishedDevice], standings: Sequence[Standing]
    ) -> Finding:
        """Say why each request alone would fit, but not all of them together."""
        shortage = self._shortage(devices, standings)
        free = sum(
            1
            for published in devices
            if any(self._is_free(standing.want, published) for standing in standings)
        )
        wanted = sum(standing.wanted for standing in standings)
        if shortage is not None:
            return Finding(
                reason=Verdict.COUNTERS.value,
                summary=f"{free} free one at a time; together {shortage}",
                closeness=(len(RANKS) + 1, free),
                together=f"not {wanted} at a time: on {node.name} {shortage}",
            )
        return Finding(
            reason=TOO_FEW,
            summary=f"{free} free, {wanted} wanted by all requests together",
            closeness=(len(RANKS), free),
            together=f"no node has {wanted} for all requests together",
        )

    def _is_free(self, want: Want, published: PublishedDevice) -> bool:
        return self.judge.judge_for(want, published, out_of_reach="").verdict is Verdict.FREE

    def _shortage(
        self, devices: Sequence[PublishedDevice], standings: Sequence[Standing]
    ) -> Shortage | None:
        """Hand out free devices in order until a counter runs out; tell which one did."""
        ledgers: dict[PoolId, CounterLedger] = {
            pool_id: replace(ledger, free=dict(ledger.free))
            for pool_id, ledger in self.judge.ledgers.items()
        }
        used: set[PublishedDevice] = set()
        for standing in standings:
            missing, shortage = standing.wanted, None
            for published in devices:
                is_offered = missing > 0 and published not in used
                if not (is_offered and self._is_free(standing.want, published)):
                    continue
                ledger = ledgers.get(published.id.pool_id)
                if ledger is None or not published.draws or ledger.take(published.draws):
                    used.add(published)
                    missing -= 1
                else:
                    shortage = shortage or ledger.shortage(published.draws)
            if missing and shortage is not None:
                return shortage
        return None


def without_constraint(claim: ResourceClaim, number: int) -> ResourceClaim:
    """Copy a claim with one constraint left out."""
    constraints = claim.spec.constraints
    rest = constraints[:number] + constraints[number + 1 :]
    return replace(claim, spec=replace(claim.spec, constraints=rest))


def without_constraints(claim: ResourceClaim) -> ResourceClaim:
    """Copy a claim without any constraint."""
    return replace(claim, spec=replace(claim.spec, constraints=()))


def _lacking(standing: Standing) -> Finding:
    if standing.free:
        return Finding(
            reason=TOO_FEW,
            summary=f"{standing.free} free, {standing.wanted} wanted",
            closeness=(len(RANKS), standing.free),
            standing=standing,
        )
    furthest = standing.furthest
    return Finding(
        reason=furthest.value,
        summary=_summary(standing, furthest),
        closeness=(RANKS[furthest], standing.counts.get(furthest, 0)),
        standing=standing,
    )


def _summary(standing: Standing, furthest: Verdict) -> str:
    count = standing.counts.get(furthest, 0)
    if furthest is Verdict.CLASS_MISMATCH:
        return f"none of {count} devices is of class {standing.want.wish.device_class_name}"
    if furthest is Verdict.SELECTOR_MISMATCH:
        return f"none of {count} devices of the class matches the selectors"
    if furthest is Verdict.SELECTOR_ERROR:
        return f"a selector fails on {count} devices: {standing.examples[furthest]}"
    if furthest is Verdict.TAKEN:
        return f"0 free of {standing.matched} matching devices"
    return f"0 free of {standing.matched} matching devices: {standing.examples[furthest]}"
