"""Laws of what-if answers, on random small worlds."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from dra_console.allocator.api_json import JsonObject
from dra_console.allocator.model import ResourceClaim, Snapshot
from dra_console.allocator.outcomes import Allocated
from dra_console.allocator.search.first_fit import first_fit
from dra_console.allocator.world.index import index_of
from tests.builders import strategies
from tests.builders.objects import a_class, a_device, a_node, a_request, a_slice, a_template
from tests.unit.scheduling.whatif.asking import World, of_spec, of_template

pytestmark = pytest.mark.long

SLOW = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
EXTRA: JsonObject = {"type": "addNodes", "like": "gpu-01", "count": 1}


def spec_of(claim: JsonObject) -> JsonObject:
    spec = claim["spec"]
    assert isinstance(spec, dict)
    return spec


def allocated(snapshot: Snapshot, claims: Sequence[ResourceClaim], number: int) -> Snapshot | None:
    """Allocate one more pod, or say that it does not fit."""
    outcome = first_fit(index_of(snapshot), claims).outcome
    if not isinstance(outcome, Allocated):
        return None
    taken = [
        replace(claim, name=f"{claim.name}-{number}", allocation=result)
        for claim, result in zip(claims, outcome.results, strict=True)
    ]
    return replace(snapshot, claims=(*snapshot.claims, *taken))


@SLOW
@given(strategies.worlds(), strategies.claims())
def test_so_many_fit_when_they_are_allocated_one_by_one_and_no_more(
    objects: list[JsonObject], asked: JsonObject
) -> None:
    found = World(*objects).ask(EXTRA, pod=of_spec(spec_of(asked)))
    assert found.then is not None
    assume(not found.then.is_lower_bound)

    now: Snapshot | None = found.after.snapshot
    for number in range(found.then.count):
        assert now is not None
        now = allocated(now, found.claims, number)
    assert now is not None
    assert allocated(now, found.claims, found.then.count) is None


@SLOW
@given(strategies.worlds(), strategies.claims())
def test_without_edits_the_answer_is_the_one_of_today(
    objects: list[JsonObject], asked: JsonObject
) -> None:
    pod = of_spec(spec_of(asked))
    world = World(*objects)

    plain = world.ask(pod=pod)
    edited = world.fresh().ask(EXTRA, pod=pod)

    assert plain.then is plain.today
    assert plain.fragments is plain.fragments_today
    assert plain.today is not None
    assert edited.today is not None
    assert (plain.today.count, plain.today.places) == (edited.today.count, edited.today.places)


@SLOW
@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=4),
    st.integers(1, 3),
    st.integers(1, 3),
)
def test_more_free_devices_never_make_fewer_pods_fit(
    sizes: list[int], wanted: int, more: int
) -> None:
    objects = [
        a_class(),
        a_template("some", namespace="team-research", requests=[a_request(count=wanted)]),
    ]
    for number, size in enumerate(sizes):
        devices = [a_device(f"gpu-{at}") for at in range(size)]
        objects += [a_node(f"gpu-0{number}"), a_slice(node=f"gpu-0{number}", devices=devices)]

    found = World(*objects).ask(
        {"type": "addNodes", "like": "gpu-00", "count": more}, pod=of_template("some")
    )

    assert found.today is not None
    assert found.then is not None
    assert found.then.count == found.today.count + more * (sizes[0] // wanted)


@SLOW
@given(strategies.worlds(), strategies.claims())
def test_what_is_known_of_today_does_not_change_the_answer(
    objects: list[JsonObject], asked: JsonObject
) -> None:
    """Knowledge of the devices that no edit is about is shared; a world of its own has none."""
    pod = of_spec(spec_of(asked))
    world = World(*objects)
    edits: list[JsonObject] = [
        EXTRA,
        {"type": "drainNode", "node": "gpu-02"},
        {"type": "removeNode", "node": "gpu-01"},
    ]

    shared = world.ask(*edits, pod=pod)
    alone = World(*objects)
    alone.state = replace(
        alone.state, snapshot=replace(shared.after.snapshot), unusable=shared.after.unusable
    )
    plain = alone.ask(pod=pod)

    assert shared.then is not None
    assert plain.then is not None
    assert (shared.then.count, shared.then.places) == (plain.then.count, plain.then.places)
    if shared.then.explanation is not None:
        assert plain.then.explanation is not None
        assert shared.then.explanation.headline == plain.then.explanation.headline
        assert shared.then.explanation.funnel == plain.then.explanation.funnel
    assert shared.fragments.left == plain.fragments.left
