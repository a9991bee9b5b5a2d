"""The answer to a scenario: what fits today, what would fit, whom it would hit, what is left.

A pure function of the state, the scenario and the reader's rights; nothing is written. What is
the same for every reader is worked out once for a state and kept beside it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from weakref import WeakKeyDictionary

from dra_console.allocator.model import ClaimSpec, ResourceClaim
from dra_console.mirror.models import Cluster
from dra_console.scheduling.whatif.changing import World, changed, share_knowledge, world_of
from dra_console.scheduling.whatif.edits import AddPods
from dra_console.scheduling.whatif.fitting import Added, Fit, add_pods, fit
from dra_console.scheduling.whatif.fragments import Fragments, fragments
from dra_console.scheduling.whatif.impact import Impact, PodFinder, impacts, mirrored_pods
from dra_console.scheduling.whatif.resolving import Resolver, StoredClaim, stored_claims
from dra_console.scheduling.whatif.rights import Rights
from dra_console.scheduling.whatif.scenario import Scenario
from dra_console.scheduling.whatif.states import LOOKING, Chosen, State, choose_state

FITS_KEPT: Final = 16
"""Of one state as it is: most scenarios of a person ask about the same pod."""


@dataclass(frozen=True, slots=True)
class Answer:
    """`today` and `then` are of the pod that is asked about; without one they are `None`."""

    scenario: Scenario
    chosen: Chosen
    claims: tuple[ResourceClaim, ...]
    today: Fit | None
    then: Fit | None
    added: Mapping[int, Added]
    """By the place of the edit."""

    impacts: tuple[Impact, ...]
    before: World
    after: World
    fragments_today: Fragments
    fragments: Fragments


@dataclass(frozen=True, slots=True)
class Sources:
    """Where names are looked up that no state holds."""

    stored_claim: StoredClaim
    find_pods: PodFinder


def answer_now(cluster: Cluster, scenario: Scenario, *, rights: Rights) -> Answer:
    """Answer on the state that the scenario names, or else on what is mirrored now.

    Raises:
        DecodeError: a name is not known or may not be seen, or a change does not fit.

    """
    sources = Sources(stored_claims(cluster), mirrored_pods(cluster))
    return answer(
        choose_state(cluster, scenario.snapshot), scenario, rights=rights, sources=sources
    )


def answer(chosen: Chosen, scenario: Scenario, *, rights: Rights, sources: Sources) -> Answer:
    """Answer a scenario on a state.

    Raises:
        DecodeError: a name is not known or may not be seen, or a change does not fit.

    """
    state = chosen.state
    resolver = Resolver(state, rights, sources.stored_claim)
    claims = resolver.claims_of(scenario.pod, path="pod") if scenario.pod else ()
    pods = {
        number: resolver.claims_of(edit.pod, path=f"edits[{number}].pod")
        for number, edit in enumerate(scenario.edits)
        if isinstance(edit, AddPods)
    }
    before = world_of(state)
    after = changed(state, scenario.edits, rights=rights)
    with LOOKING:
        # What templates read is mostly what pods read: asked first, devices are told apart once.
        left_before = _kept_of(state).fragments(before, state)
        today = _kept_of(state).fit(before, claims) if claims else None
        left, then = left_before, today
        added: Mapping[int, Added] = {}
        if scenario.edits:
            share_knowledge(before, after)
            left, then, after, added = _changed_answers(after, scenario, state, claims, pods)
    return Answer(
        scenario=scenario,
        chosen=chosen,
        claims=claims,
        today=today,
        then=then,
        added=added,
        impacts=impacts(after.effects, rights=rights, find_pods=sources.find_pods),
        before=before,
        after=after,
        fragments_today=left_before,
        fragments=left,
    )


def _changed_answers(
    after: World,
    scenario: Scenario,
    state: State,
    claims: Sequence[ResourceClaim],
    pods: Mapping[int, Sequence[ResourceClaim]],
) -> tuple[Fragments, Fit | None, World, Mapping[int, Added]]:
    """Place the pods that the scenario adds, then ask as of today."""
    added: dict[int, Added] = {}
    for number, edit in enumerate(scenario.edits):
        if isinstance(edit, AddPods):
            after, added[number] = add_pods(after, pods[number], count=edit.count, number=number)
    left = fragments(after, state.templates)
    return left, fit(after, claims) if claims else None, after, added


@dataclass(slots=True, eq=False)
class _Kept:
    """What was found out about a state as it is."""

    fits: dict[tuple[tuple[str, str, ClaimSpec], ...], Fit] = field(default_factory=dict)
    left: Fragments | None = None

    def fit(self, world: World, claims: Sequence[ResourceClaim]) -> Fit:
        key = tuple((claim.namespace, claim.name, claim.spec) for claim in claims)
        if key not in self.fits:
            while len(self.fits) >= FITS_KEPT:
                del self.fits[next(iter(self.fits))]
            self.fits[key] = fit(world, claims)
        return self.fits[key]

    def fragments(self, world: World, state: State) -> Fragments:
        if self.left is None:
            self.left = fragments(world, state.templates)
        return self.left


def _kept_of(state: State) -> _Kept:
    return _kept.setdefault(state, _Kept())


_kept: Final[WeakKeyDictionary[State, _Kept]] = WeakKeyDictionary()
