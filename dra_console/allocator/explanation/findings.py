"""How far the claims get on one class of nodes.

Verdicts are per device; counts, constraints and counters are matters of a set of devices.
So nodes get a finding of their own: the request that fails first, or the furthest set that
their devices reach together. The findings also say which nodes came closest.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from dra_console.allocator.explanation.constrained import (
    Group,
    group_of,
    without_constraint,
    without_constraints,
)
from dra_console.allocator.explanation.effort import Effort
from dra_console.allocator.explanation.furthest import Explorer
from dra_console.allocator.explanation.judgements import Judgements
from dra_console.allocator.explanation.places import Place
from dra_console.allocator.explanation.standings import Standing, standing_of
from dra_console.allocator.explanation.verdicts import RANKS, Verdict
from dra_console.allocator.model import ResourceClaim
from dra_console.allocator.search.asks import Ask
from dra_console.allocator.search.drawing import Refusal
from dra_console.allocator.world.index import Index
from dra_console.allocator.world.pools import PublishedDevice

TOO_FEW: Final = "count"
REASONS: Final[Mapping[Refusal | None, str]] = MappingProxyType(
    {
        Refusal.COUNTERS: Verdict.COUNTERS.value,
        Refusal.CONSTRAINT: Verdict.CONSTRAINT.value,
    }
)
"""Of what runs out when devices are taken together."""


@dataclass(frozen=True, slots=True)
class Finding:
    """`reason` as in `NodeGroup`; `closeness` orders nodes, the greatest came closest.

    `standing` is that of the request that fails on its own. Without one, each request alone
    would fit, and `together` says in words why all of them do not; `evidence` is what there
    is instead, and `limit` the same in a few words.
    """

    reason: str
    summary: str
    closeness: tuple[int, int]
    standing: Standing | None = None
    together: str = ""
    evidence: str = ""
    limit: str = ""

    @property
    def rank(self) -> tuple[int, int]:
        """The smallest came closest."""
        return -self.closeness[0], -self.closeness[1]


@dataclass(frozen=True, slots=True)
class Finder:
    """Finds out what is missing where the claims do not fit."""

    index: Index
    claims: Sequence[ResourceClaim]
    judgements: Judgements
    effort: Effort

    def find(self, place: Place) -> Finding:
        """Look at the devices that one node of a class can use."""
        devices = place.usable
        requests = self._standings(devices)
        for request in requests:
            if not any(standing.is_enough for standing in request):
                return max(map(_lacking, request), key=lambda finding: finding.closeness)
        constrained = self._constrained(place, devices, requests)
        return constrained or self._competing(place, devices, requests)

    def _standings(self, devices: Sequence[PublishedDevice]) -> list[list[Standing]]:
        requests: dict[tuple[str, str], list[Standing]] = {}
        for want in self.judgements.judge.wants:
            counts = Counter(self.judgements.for_want(want, each) for each in devices)
            standing = standing_of(want, counts.items())
            requests.setdefault((want.claim.key, want.request), []).append(standing)
        return list(requests.values())

    def _constrained(
        self,
        place: Place,
        devices: Sequence[PublishedDevice],
        requests: Sequence[Sequence[Standing]],
    ) -> Finding | None:
        """Blame a constraint that cannot be met, or without which the node would do."""
        groups = [
            (claim, number, self._group(claim, number, devices, requests))
            for claim in self.claims
            for number in range(len(claim.spec.constraints))
        ]
        if not groups:
            return None
        for _, _, group in groups:
            if group.is_too_small:
                return _blamed(group)
        for claim, number, group in groups:
            rest = without_constraint(claim, number)
            if self._fits([rest if each is claim else each for each in self.claims], place):
                return _blamed(group)
        if self._fits([without_constraints(each) for each in self.claims], place):
            return _blamed(groups[0][2])
        return None

    def _group(
        self,
        claim: ResourceClaim,
        number: int,
        devices: Sequence[PublishedDevice],
        requests: Sequence[Sequence[Standing]],
    ) -> Group:
        return group_of(claim, number, requests=requests, devices=devices, is_free=self._is_free)

    def _is_free(self, standing: Standing, published: PublishedDevice) -> bool:
        return self.judgements.for_want(standing.want, published).verdict is Verdict.FREE

    def _is_free_for_ask(self, ask: Ask, published: PublishedDevice) -> bool:
        return any(
            self.judgements.for_want(want, published).verdict is Verdict.FREE
            for want in self.judgements.judge.wants
            if want.claim is ask.claim and want.label == ask.label
        )

    def _fits(self, claims: Sequence[ResourceClaim], place: Place) -> bool:
        return self.effort.fitting(self.index, claims, nodes=(place.node,)) is not None

    def _competing(
        self,
        place: Place,
        devices: Sequence[PublishedDevice],
        requests: Sequence[Sequence[Standing]],
    ) -> Finding:
        """Say why each request alone would fit, but not all of them together."""
        free = sum(
            any(self._is_free(standing, published) for request in requests for standing in request)
            for published in devices
        )
        wanted = sum(min(standing.wanted for standing in request) for request in requests)
        explorer = Explorer(
            self.index, self.claims, self.judgements.judge, self._is_free_for_ask, self.effort
        )
        reached = explorer.furthest_on(place.node)
        most = f"at most {reached.devices} of {wanted} at a time"
        if not reached.evidence:
            is_rivalry = free >= wanted
            whose = "all requests" + (", which want the same ones" if is_rivalry else " together")
            return Finding(
                reason=TOO_FEW,
                summary=f"{free} free, {wanted} wanted by {whose}",
                closeness=(len(RANKS), free),
                together=f"no node has {wanted} for all requests together",
                evidence=f"{free} are free on one node, {wanted} wanted by {whose}",
                limit=most,
            )
        return Finding(
            reason=REASONS.get(reached.refusal, TOO_FEW),
            summary=f"{free} free, {most}: then {reached.evidence}",
            closeness=(len(RANKS) + 1, reached.devices),
            together=f"not {wanted} at a time: {reached.evidence}",
            evidence=f"{most}: then {reached.evidence}",
            limit=most,
        )


def _blamed(group: Group) -> Finding:
    return Finding(
        reason=Verdict.CONSTRAINT.value,
        summary=f"{group.free} free; {group.words}",
        closeness=(len(RANKS) + 1, group.largest if group.is_match else len(group.values)),
        together=f"no node has {group.wish}",
        evidence=f"{group.words} ({group.listed}), {group.wanted} wanted",
        limit=group.limit,
    )


def _lacking(standing: Standing) -> Finding:
    if standing.free:
        return Finding(
            reason=TOO_FEW,
            summary=f"{standing.free} free, {standing.wanted} wanted",
            closeness=(len(RANKS), standing.free),
            standing=standing,
            evidence=f"{standing.free} of {standing.wanted} wanted are free",
            limit=f"at most {standing.free} on one node, {standing.wanted} wanted",
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
