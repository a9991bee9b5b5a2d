"""Judgements of a whole cluster, each made once: by kind of device and state of use.

Nodes with the same kinds of devices in the same states are one class, and the same is to
be said of all of them. Of a fleet of 5,000 nodes, a few dozen classes are looked at.
"""

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from dra_console.allocator.explanation.holdings import Holdings, UseState
from dra_console.allocator.explanation.judge import Judge
from dra_console.allocator.explanation.places import Adrift, Place, Places
from dra_console.allocator.explanation.verdicts import Judgement, Verdict
from dra_console.allocator.inventory import PoolId
from dra_console.allocator.search.wants import Want
from dra_console.allocator.world.pools import PublishedDevice
from dra_console.allocator.world.view import View

NOT_AMONG: Final = "its node is not among the nodes that may be used"


@dataclass(frozen=True, slots=True, eq=False)
class NodeClass:
    """Nodes that no claim at hand can tell apart, and what became of the devices of each.

    `out_of_reach` says why the pod may not use them, and is empty if it may.
    """

    places: tuple[Place, ...]
    judgements: tuple[Judgement, ...]
    out_of_reach: str

    @property
    def first(self) -> Place:
        """The node that stands for the class."""
        return self.places[0]

    @property
    def is_considered(self) -> bool:
        return not self.out_of_reach


@dataclass(frozen=True, slots=True, eq=False)
class DriftingDevice:
    """A device that stands at no node; `problem` says why no considered node can use it."""

    adrift: Adrift
    judgement: Judgement
    problem: str

    @property
    def published(self) -> PublishedDevice:
        return self.adrift.published


@dataclass(slots=True, eq=False)
class Judgements:
    """Keeps what the judge said, for one pod's claims in one world."""

    judge: Judge
    view: View
    holdings: Holdings
    _of: dict[tuple[int, UseState], Judgement] = field(default_factory=dict)
    _for_want: dict[tuple[Want, int, UseState], Judgement] = field(default_factory=dict)
    _contents: dict[Place, Hashable] = field(default_factory=dict)

    def of(self, published: PublishedDevice) -> Judgement:
        """Judge a device, whatever node it stands at."""
        key = (self.view.kind(published), self.holdings.state(published))
        known = self._of.get(key)
        if known is None:
            known = self._of[key] = self.judge.judge(published)
        return known

    def for_want(self, want: Want, published: PublishedDevice) -> Judgement:
        """Judge a device for one want alone, whatever node it stands at."""
        key = (want, self.view.kind(published), self.holdings.state(published))
        known = self._for_want.get(key)
        if known is None:
            known = self._for_want[key] = self.judge.judge_for(want, published)
        return known

    def classes(
        self, places: Places, *, considered: frozenset[str], left_out: Mapping[str, str]
    ) -> tuple[NodeClass, ...]:
        """Group the nodes at which devices stand; `considered` are those that may be used.

        `left_out` says why others may not, as far as that is known.
        """
        has_all = len(considered) == len(places.of_node)
        return tuple(
            NodeClass(members, self._judgements(members[0], out_of_reach=reason), reason)
            for alike in self.holdings.alike(places, self.view)
            for reason, members in (
                (("", alike),) if has_all else _by_reason(alike, considered, left_out).items()
            )
        )

    def contents(self, place: Place) -> Hashable:
        """Name what claims can use at a place: equal contents hold as many devices of each kind.

        Which pool a device is in matters only where it draws on the pool's counters.
        """
        known = self._contents.get(place)
        if known is not None:
            return known
        pools: dict[PoolId, int] = {}
        counts = Counter(
            (
                self.view.kind(published),
                self.holdings.state(published),
                pools.setdefault(published.id.pool_id, len(pools)) if published.draws else None,
            )
            for published in place.usable
        )
        known = self._contents[place] = frozenset(counts.items())
        return known

    def drifting(
        self, adrift: Sequence[Adrift], *, considered: frozenset[str], left_out: Mapping[str, str]
    ) -> tuple[DriftingDevice, ...]:
        """Judge the devices that stand at no node."""
        drifting = []
        for each in adrift:
            problem = _problem(each, considered, left_out)
            judgement = _in_reach(self.of(each.published), problem)
            drifting.append(DriftingDevice(each, judgement, problem))
        return tuple(drifting)

    def everywhere(
        self, want: Want, classes: Sequence[NodeClass], drifting: Sequence[DriftingDevice]
    ) -> Iterator[tuple[Judgement, int]]:
        """Judge all devices for one want alone, and count those of each class."""
        for each in classes:
            place = each.first
            for published, problem in zip(place.devices, place.problems, strict=True):
                judgement = self.for_want(want, published)
                yield _in_reach(judgement, problem or each.out_of_reach), len(each.places)
        for device in drifting:
            yield _in_reach(self.for_want(want, device.published), device.problem), 1

    def _judgements(self, place: Place, *, out_of_reach: str) -> tuple[Judgement, ...]:
        return tuple(
            _in_reach(self.of(published), problem or out_of_reach)
            for published, problem in zip(place.devices, place.problems, strict=True)
        )


def _by_reason(
    places: Sequence[Place], considered: frozenset[str], left_out: Mapping[str, str]
) -> Mapping[str, tuple[Place, ...]]:
    """Divide alike places by why they may not be used; an empty reason is that they may."""
    groups: dict[str, list[Place]] = {}
    for place in places:
        reason = "" if place.name in considered else left_out.get(place.name) or NOT_AMONG
        groups.setdefault(reason, []).append(place)
    return {reason: tuple(members) for reason, members in groups.items()}


def _in_reach(judgement: Judgement, problem: str) -> Judgement:
    if not problem or judgement.verdict is not Verdict.FREE:
        return judgement
    return Judgement(Verdict.NODE_FILTER, problem, judgement.want)


def _problem(adrift: Adrift, considered: frozenset[str], left_out: Mapping[str, str]) -> str:
    """Say why no considered node can use a device; empty if one can."""
    if not considered.isdisjoint(adrift.usable_on):
        return ""
    if adrift.problem:
        return adrift.problem
    reasons = sorted({left_out[name] for name in adrift.nodes if name in left_out})
    if reasons:
        return f"none of the nodes that see it may be used: {'; '.join(reasons)}"
    return "none of the nodes that see it is among those that may be used"
