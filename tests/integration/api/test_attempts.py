"""What was tried, what waits and who is next, over REST: for whom, filtered, compared."""

import time
from datetime import timedelta
from http import HTTPStatus
from typing import Any

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from dra_console.mirror.models import Cluster, Pod
from dra_console.scheduling.models import Attempt
from dra_console.scheduling.planning import queue_notes
from dra_console.scheduling.planning.queue_notes import QueueNote
from tests.builders.attempts import TRIED_AT, try_all
from tests.builders.fleets import a_fleet
from tests.builders.mirrored import mirror
from tests.builders.objects import (
    a_claim,
    a_pod,
    a_request,
    a_result,
    an_allocated_claim,
)

LISTS = ("attempts", "waitinggroups", "queue")
MINE, THEIRS = "team-research", "team-vision"


@pytest.fixture(autouse=True)
def _tried(cluster: Cluster) -> None:
    """A pod and a claim of either team wait; a pod of mine has no claim yet."""
    queue_notes.clear(cluster.pk)
    mirror(
        cluster,
        *a_fleet(),
        a_pod("waits", namespace=MINE, claim="waits"),
        a_pod("hidden-pod", namespace=THEIRS, claim="concealed"),
        a_pod("lonely", namespace=MINE, template="gone"),
        a_claim("big", namespace=MINE, requests=[a_request(count=3)]),
    )
    try_all(cluster)


def items(client: Client, address: str) -> list[dict[str, Any]]:
    answer = client.get(f"/api/v1/{address}")
    assert answer.status_code == HTTPStatus.OK, answer.content
    found: list[dict[str, Any]] = answer.json()["items"]
    return found


def test_a_foreign_namespace_is_in_no_list_filter_or_detail(as_researcher: Client) -> None:
    everything = b"".join(
        as_researcher.get(f"/api/v1/{plural}/{query}").content
        for plural in LISTS
        for query in ("", f"?namespace={THEIRS}", "?limit=1")
    )
    foreign = Attempt.objects.get(namespace=THEIRS)
    mine = Attempt.objects.filter(namespace=MINE).first()
    assert mine is not None
    details = [
        as_researcher.get(f"/api/v1/attempts/{address}")
        for address in (
            foreign.pk,
            999_999,
            f"{foreign.pk}/compare/?with={mine.pk}",
            f"{mine.pk}/compare/?with={foreign.pk}",
        )
    ]

    assert b"waits" in everything
    for name in (THEIRS.encode(), b"concealed", b"hidden-pod", b"secret"):
        assert name not in everything
    assert {one.status_code for one in details} == {HTTPStatus.NOT_FOUND}
    assert len({one.content for one in details}) == 1


def test_whoever_may_list_no_claims_sees_empty_lists(as_nobody: Client) -> None:
    assert [items(as_nobody, f"{plural}/") for plural in LISTS] == [[], [], []]


@pytest.mark.parametrize(
    ("query", "subjects"),
    [
        ("", ["big", "hidden-pod", "lonely", "waits"]),
        ("namespace=team-research&outcome=fits", ["waits"]),
        ("outcome=waits", ["lonely"]),
        ("claim=waits", ["waits"]),
        ("claim=wait", []),
        ("pod=lonely", ["lonely"]),
        ("since=2026-11-29T20:04:59Z&newest=true", ["big", "hidden-pod", "lonely", "waits"]),
        ("since=2026-11-29T20:05:01Z", []),
    ],
)
def test_filters_of_attempts(as_admin: Client, query: str, subjects: list[str]) -> None:
    found = items(as_admin, f"attempts/?{query}")

    assert sorted(one["pod"] or one["claims"][0] for one in found) == subjects


@pytest.mark.parametrize(
    ("address", "parameter"),
    [
        ("attempts/?outcome=lost", "outcome"),
        ("attempts/?since=yesterday", "since"),
        ("attempts/1/compare/", "with"),
        ("attempts/1/compare/?with=one", "with"),
        ("waitinggroups/?outcome=lost", "outcome"),
        ("queue/?priority=1", "priority"),
    ],
)
def test_a_bad_parameter_is_named(as_admin: Client, address: str, parameter: str) -> None:
    answer = as_admin.get(f"/api/v1/{address}")

    assert answer.status_code == HTTPStatus.BAD_REQUEST
    assert [error["parameter"] for error in answer.json()["errors"]] == [parameter]


@pytest.mark.parametrize("plural", LISTS)
def test_pages_of_one_together_are_the_list(as_admin: Client, plural: str) -> None:
    whole = items(as_admin, f"{plural}/")
    paged: list[dict[str, Any]] = []
    query = "limit=1"

    while query:
        page = as_admin.get(f"/api/v1/{plural}/?{query}").json()
        paged += page["items"]
        following = page["metadata"].get("continue")
        query = f"limit=1&continue={following}" if following else ""

    assert paged == whole
    assert len(whole) >= 2


def test_an_attempt_is_read_with_its_explanation(as_researcher: Client) -> None:
    [listed] = items(as_researcher, "attempts/?claim=big")

    read = as_researcher.get(f"/api/v1/attempts/{listed['id']}/?limit=1").json()

    explanation = read.pop("explanation")
    assert read == listed
    assert explanation["headline"] == listed["headline"]
    assert [node["name"] for node in explanation["nodes"]] == ["gpu-02"]
    assert THEIRS not in str(explanation)


def test_two_attempts_differ_in_what_happened_between_them(
    as_researcher: Client, cluster: Cluster
) -> None:
    hour = timedelta(hours=1)
    fills = [
        an_allocated_claim(f"fills-{gpu}", namespace=MINE, results=[a_result(gpu, pool="gpu-02")])
        for gpu in ("gpu-0", "gpu-1")
    ]
    others = [*a_fleet(), a_pod("waits", namespace=MINE, claim="waits"), *fills]
    mirror(cluster, *others, seen_at=TRIED_AT + hour / 2)
    try_all(cluster, at=TRIED_AT + hour)

    newer, older = items(as_researcher, "attempts/?pod=waits")
    address = f"/api/v1/attempts/{older['id']}/compare/?with={newer['id']}"
    compared = as_researcher.get(address).json()

    assert (compared["older"], compared["newer"]) == (older["id"], newer["id"])
    assert not compared["isEqual"]
    assert compared["sentences"][0] == {
        "name": "outcome",
        "before": "fits",
        "after": "does-not-fit",
    }
    assert {holder["claim"] for holder in compared["holders"]} >= {"team-research/fills-gpu-0"}
    changed = {(one["name"], one["happened"]) for one in compared["changes"]}
    assert ("fills-gpu-0", "allocated") in changed
    assert THEIRS not in str(compared)


def test_an_attempt_does_not_differ_from_itself(as_admin: Client) -> None:
    [one] = items(as_admin, "attempts/?pod=waits")

    compared = as_admin.get(f"/api/v1/attempts/{one['id']}/compare/?with={one['id']}").json()

    assert compared["isEqual"]
    assert compared["changes"] == []


def test_groups_count_who_asks_for_the_same(as_admin: Client, cluster: Cluster) -> None:
    alike = [a_claim(f"alike-{number}", namespace=MINE) for number in range(3)]
    mirror(cluster, *a_fleet(), *alike)
    try_all(cluster)

    groups = items(as_admin, "waitinggroups/?outcome=fits")

    assert sorted((group["count"], group["namespaces"]) for group in groups) == [
        (2, [MINE, THEIRS]),
        (3, [MINE]),
    ]
    assert {group["oldest"]["kind"] for group in groups} == {"ResourceClaim"}


def test_the_queue_gives_places_over_all_namespaces(
    as_admin: Client, as_researcher: Client
) -> None:
    places = [(one["place"], one["name"]) for one in items(as_admin, "queue/")]
    mine = [(one["place"], one["name"]) for one in items(as_researcher, "queue/")]

    assert places == [(1, "lonely"), (2, "waits"), (3, "hidden-pod")]
    assert mine == [(1, "lonely"), (2, "waits")]


def test_the_queue_says_until_when_and_why_somebody_waits(
    as_admin: Client, cluster: Cluster
) -> None:
    pod = Pod.objects.get(name="waits")
    note = QueueNote(3, time.time() + 60, waits_for_change=True, reason="full", noted_at=1.0)
    queue_notes.note(cluster.pk, {pod.uid: note})

    [told] = [one for one in items(as_admin, "queue/") if one["name"] == "waits"]

    assert (told["standing"], told["tries"], told["reason"]) == ("backing-off", 3, "full")
    assert told["nextTryAt"] > told["lastAt"]


def test_a_claim_tells_who_schedules_it_and_its_place(as_admin: Client, cluster: Cluster) -> None:
    foreign: Any = a_pod("elsewhere", namespace=MINE, claim="big", scheduler="default-scheduler")
    message = "0/2 nodes are available: 2 cannot allocate all claims."
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    foreign["status"] = {"conditions": [{**condition, "message": message}]}
    big = a_claim("big", namespace=MINE, requests=[a_request(count=3)])
    mirror(cluster, *a_fleet(), big, foreign)
    try_all(cluster)

    ours = as_admin.get(f"/api/v1/resourceclaims/{MINE}/waits/scheduling/").json()
    theirs = as_admin.get(f"/api/v1/resourceclaims/{MINE}/big/scheduling/").json()

    assert ours["place"] == "Place 2 of 3 in this console's queue: it is tried in its turn."
    assert theirs["place"].startswith("The order is not defined: default-scheduler schedules")
    [pod] = theirs["pods"]
    assert (pod["schedulerName"], pod["condition"]["message"]) == ("default-scheduler", message)
    assert (pod["agreement"], pod["events"]) == ("same", [])


@pytest.mark.parametrize("plural", LISTS)
def test_a_list_takes_a_fixed_number_of_queries(
    as_admin: Client,
    cluster: Cluster,
    plural: str,
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    queries = {"attempts": 5, "waitinggroups": 8, "queue": 6}[plural]
    as_admin.get(f"/api/v1/{plural}/")

    with django_assert_num_queries(queries):
        as_admin.get(f"/api/v1/{plural}/")
    claims = [a_claim(f"c-{number}", namespace=MINE) for number in range(50)]
    pods = [a_pod(f"p-{number}", namespace=MINE, claim=f"c-{number}") for number in range(50)]
    mirror(cluster, *a_fleet(), *claims, *pods)
    try_all(cluster)
    with django_assert_num_queries(queries):
        as_admin.get(f"/api/v1/{plural}/")
