"""Who waits for the console, in which place, and what for."""

import time
from datetime import UTC, datetime
from typing import Any

import pytest
from redis import Redis

from dra_console.kube.kinds import PODS, RESOURCE_CLAIMS
from dra_console.mirror.models import Cluster
from dra_console.scheduling.allocating.queueing import Item, Queue, What
from dra_console.scheduling.allocating.telling import Teller
from dra_console.scheduling.planning import queue_notes
from dra_console.scheduling.planning.queue_notes import QueueNote
from dra_console.scheduling.planning.queue_of import InQueue, Standing, queue_of
from dra_console.sync.reconcile import apply
from tests.builders.objects import a_claim, a_pod

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis_url")]

NOON = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)


@pytest.fixture
def cluster() -> Cluster:
    cluster = Cluster.objects.create(name="test")
    queue_notes.clear(cluster.pk)
    return cluster


def a_waiting_pod(name: str, *, minute: int = 0, **spec: Any) -> Any:
    pod: Any = a_pod(name, namespace=spec.pop("namespace", "team-research"))
    pod["metadata"]["creationTimestamp"] = f"2026-11-29T20:{minute:02}:00Z"
    pod["spec"] |= spec
    return pod


def see(cluster: Cluster, *pods: Any) -> None:
    apply(cluster, kind=PODS, objects=pods, seen_at=NOON)


def a_note(*, after: float, waits_for_change: bool = False) -> QueueNote:
    now = time.time()
    return QueueNote(3, now + after, waits_for_change, "0 of 1 node takes it", now)


def by_name(queue: list[InQueue]) -> dict[str, InQueue]:
    return {each.line.name: each for each in queue}


def test_higher_priority_comes_first_then_the_older_one(cluster: Cluster) -> None:
    claim: Any = a_claim("ahead")
    claim["metadata"]["labels"] = {"dra-console.io/reserve-ahead": "true"}
    claim["metadata"]["annotations"] = {"dra-console.io/priority": "5"}
    apply(cluster, kind=RESOURCE_CLAIMS, objects=[claim], seen_at=NOON)
    see(
        cluster,
        a_waiting_pod("young", minute=5),
        a_waiting_pod("old", minute=1),
        a_waiting_pod("urgent", minute=9, priority=9),
        a_waiting_pod("gated", schedulingGates=[{"name": "quota"}]),
        a_waiting_pod("bound", nodeName="gpu-01"),
    )

    queue = queue_of(cluster)

    assert [(each.place, each.line.name) for each in queue] == [
        (1, "urgent"),
        (2, "ahead"),
        (3, "old"),
        (4, "young"),
    ]
    assert {each.standing for each in queue} == {Standing.NEXT}


def test_places_are_those_among_all_whoever_may_see_them(cluster: Cluster) -> None:
    see(cluster, a_waiting_pod("first"), a_waiting_pod("second", minute=1, namespace="team-vision"))

    (seen,) = queue_of(cluster, namespaces=["team-vision"])

    assert (seen.place, seen.line.name) == (2, "second")


def test_who_was_tried_in_vain_waits_for_time_and_then_for_a_change(cluster: Cluster) -> None:
    pods = {name: a_waiting_pod(name) for name in ("soon", "stuck", "due", "fresh")}
    see(cluster, *pods.values())
    uids = {name: pod["metadata"]["uid"] for name, pod in pods.items()}
    notes = {
        uids["soon"]: a_note(after=5, waits_for_change=True),
        uids["stuck"]: a_note(after=-1, waits_for_change=True),
        uids["due"]: a_note(after=-1),
        uids["fresh"]: a_note(after=5),
    }
    queue_notes.note(cluster.pk, notes)
    queue_notes.note(cluster.pk, {}, done=[uids["fresh"]])

    found = by_name(queue_of(cluster))

    assert {name: each.standing for name, each in found.items()} == {
        "soon": Standing.BACKING_OFF,
        "stuck": Standing.FOR_CHANGE,
        "due": Standing.NEXT,
        "fresh": Standing.NEXT,
    }
    soon = found["soon"]
    assert (soon.tries, soon.reason) == (3, "0 of 1 node takes it")
    assert soon.next_try_at is not None
    assert soon.next_try_at.timestamp() == pytest.approx(notes[uids["soon"]].next_try_at)


def test_a_window_tells_of_those_it_tried_and_no_more_of_those_who_wait_no_more(
    cluster: Cluster,
) -> None:
    pods = {name: a_waiting_pod(name) for name in ("stuck", "bound")}
    see(cluster, *pods.values())
    tried = {
        Item(What.POD, f"team-research/{name}"): pod["metadata"]["uid"]
        for name, pod in pods.items()
    }
    queue, teller = Queue(), Teller(cluster.pk)
    now = time.monotonic()
    for item in tried:
        queue.park(item, now=now, tries=1, gains=7, reason="0 of 1 node takes it: 1 is cordoned")

    teller.tell(queue, tried)
    told = by_name(queue_of(cluster))
    queue.forget(Item(What.POD, "team-research/bound"))
    teller.tell(queue, tried)
    left = by_name(queue_of(cluster))

    assert {each.standing for each in told.values()} == {Standing.BACKING_OFF}
    assert told["stuck"].reason == "0 of 1 node takes it: 1 is cordoned"
    assert told["stuck"].next_try_at is not None
    assert told["stuck"].next_try_at.timestamp() == pytest.approx(time.time() + 2.0, abs=1.5)
    assert left["stuck"].tries == 2
    assert left["bound"].standing is Standing.NEXT
    Teller(cluster.pk).begin()
    assert {each.standing for each in queue_of(cluster)} == {Standing.NEXT}


def test_without_redis_nothing_is_known_and_that_is_said(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    see(cluster, a_waiting_pod("train"))
    away = Redis.from_url("redis://127.0.0.1:1/0")
    monkeypatch.setattr(queue_notes, "_redis", lambda: away)

    queue_notes.note(cluster.pk, {"uid": a_note(after=1)})
    (seen,) = queue_of(cluster)

    assert (seen.standing, seen.next_try_at) == (Standing.UNKNOWN, None)
