"""The mirror ends up the same, however the way there was cut into lists and watches."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dra_console.allocator.model import JsonObject
from dra_console.kube.kinds import PODS, RESOURCE_CLAIMS, RESOURCE_SLICES, Kind
from dra_console.mirror.models import Cluster, DeviceAssignment
from dra_console.sync.known import known_versions
from dra_console.sync.listing import write_sent
from dra_console.sync.objects import ObjectKey, metadata_of
from dra_console.sync.reconcile import apply, sweep
from tests.builders.objects import (
    a_claim,
    a_device,
    a_pod,
    a_result,
    a_slice,
    an_allocated_claim,
)
from tests.unit.sync.pages import a_page
from tests.unit.sync.rows import at_version, rows_of

pytestmark = pytest.mark.long

NOON = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
NAMES = ("a", "b", "c")


def claims(name: str, variant: int) -> JsonObject:
    if variant == 0:
        return a_claim(name)
    results = [a_result(f"gpu-{number}") for number in range(variant)]
    return an_allocated_claim(name, results=results, pods=("train",) if variant == 2 else ())


def slices(name: str, variant: int) -> JsonObject:
    devices = [a_device(f"gpu-{number}") for number in range(variant)]
    return a_slice(name, pool="shared", generation=1 + variant % 2, devices=devices)


def pods(name: str, variant: int) -> JsonObject:
    return a_pod(name, claim=None if variant == 0 else f"claim-{variant}")


WORLDS: dict[Kind, Callable[[str, int], JsonObject]] = {
    RESOURCE_CLAIMS: claims,
    RESOURCE_SLICES: slices,
    PODS: pods,
}


@dataclass(frozen=True, slots=True)
class Write:
    """What somebody does at the API server; `variant` None deletes."""

    name: str
    variant: int | None


@dataclass(frozen=True, slots=True)
class Event:
    version: int
    key: ObjectKey
    subject: JsonObject | None


@dataclass(frozen=True, slots=True)
class Step:
    """What the mirror does next: watch up to so many events, or list everything.

    A step that crashes does its work and loses it with its transaction.
    """

    lists: bool
    events: int
    crashes: bool


writes = st.lists(
    st.builds(
        Write,
        name=st.sampled_from(NAMES),
        variant=st.none() | st.integers(min_value=0, max_value=3),
    ),
    max_size=25,
)
steps = st.lists(
    st.builds(
        Step,
        lists=st.booleans(),
        events=st.integers(min_value=1, max_value=6),
        crashes=st.booleans(),
    ),
    max_size=12,
)


class History:
    """An API server's memory: its events, and its state at each version."""

    def __init__(self, build: Callable[[str, int], JsonObject], done: list[Write]) -> None:
        self.events: list[Event] = []
        self.states: list[dict[ObjectKey, JsonObject]] = [{}]
        births = 0
        for write in done:
            version = len(self.events) + 1
            state = dict(self.states[-1])
            subject = build(write.name, write.variant or 0)
            key = metadata_of(subject).key
            if write.variant is None:
                if state.pop(key, None) is None:
                    continue
                self.events.append(Event(version, key, None))
            else:
                if key not in state:
                    births += 1
                uid = metadata_of(state[key]).uid if key in state else f"uid-{births}"
                state[key] = at_version(subject, version, uid=uid)
                self.events.append(Event(version, key, state[key]))
            self.states.append(state)


@dataclass(slots=True)
class Follower:
    """The mirror's side: rows and cursor move together or not at all."""

    cluster: Cluster
    kind: Kind
    history: History
    cursor: int | None = None
    skips_known: bool = False
    """Lists as windows do, which leave out what is mirrored in its version already."""

    def take(self, step: Step, *, up_to: int) -> None:
        cursor = self.cursor
        with transaction.atomic():
            if step.lists or cursor is None:
                self._list(up_to)
            else:
                self._watch(min(up_to, cursor + step.events))
            if step.crashes:
                transaction.set_rollback(True)
                self.cursor = cursor

    def _list(self, version: int) -> None:
        state = self.history.states[version]
        if self.skips_known:
            known = known_versions(self.cluster, kind=self.kind)
            page = a_page(self.kind, [*state.values()], is_known=known.holds)
            write_sent(self.cluster, kind=self.kind, sent=page.changed, known=known, seen_at=NOON)
        else:
            apply(self.cluster, kind=self.kind, objects=state.values(), seen_at=NOON)
        sweep(self.cluster, kind=self.kind, listed=state.keys(), seen_at=NOON)
        self.cursor = version

    def _watch(self, version: int) -> None:
        last = {event.key: event.subject for event in self.history.events[self.cursor : version]}
        apply(
            self.cluster,
            kind=self.kind,
            objects=[subject for subject in last.values() if subject is not None],
            gone=[key for key, subject in last.items() if subject is None],
            seen_at=NOON,
        )
        self.cursor = version


@pytest.mark.django_db
@pytest.mark.parametrize("kind", WORLDS, ids=lambda kind: kind.plural)
@given(done=writes, taken=steps, replay_from=st.integers(min_value=0, max_value=25))
@settings(
    max_examples=60,
    deadline=None,
    # The fixture behind django_db wraps all examples; each rolls itself back.
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_lists_watches_crashes_and_replays_reach_the_rows_of_one_list(
    kind: Kind, done: list[Write], taken: list[Step], replay_from: int
) -> None:
    history = History(WORLDS[kind], done)
    now = len(history.events)
    with transaction.atomic():
        followed = Follower(
            Cluster.objects.create(name="followed"), kind, history, skips_known=True
        )
        for number, step in enumerate(taken):
            followed.take(step, up_to=now * (number + 1) // len(taken))
        if followed.cursor is not None:
            followed.cursor = min(followed.cursor, replay_from)
        while followed.cursor != now:
            followed.take(Step(lists=False, events=5, crashes=False), up_to=now)
        listed = Follower(Cluster.objects.create(name="listed"), kind, history)
        listed.take(Step(lists=True, events=0, crashes=False), up_to=now)

        reached, wanted = rows_of(followed.cluster), rows_of(listed.cluster)
        doubles = _devices_held_twice_by_one_claim(followed.cluster)
        transaction.set_rollback(True)

    assert reached == wanted
    assert not doubles


def _devices_held_twice_by_one_claim(cluster: Cluster) -> list[str]:
    held = [
        f"{row.claim_uid} {row}"
        for row in DeviceAssignment.objects.filter(cluster=cluster, released_at=None)
    ]
    return sorted({each for each in held if held.count(each) > 1})
