"""The scheduling page, and what the claim page says of scheduling, as people see them."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from dra_console.kube.kinds import EVENTS, NAMESPACES
from dra_console.mirror.models import Cluster
from dra_console.scheduling.models import Attempt
from dra_console.scheduling.planning import queue_notes
from tests.builders.attempts import TRIED_AT, try_all
from tests.builders.fleets import a_fleet
from tests.builders.mirrored import mirror
from tests.builders.objects import (
    a_claim,
    a_namespace,
    a_pod,
    a_request,
    a_result,
    a_uid,
    an_allocated_claim,
    unborn,
)
from tests.integration.served_cluster import ServedCluster

pytestmark = pytest.mark.django_db

MINE, THEIRS = "team-research", "team-vision"
FOREIGN = (THEIRS, "concealed", "hidden-pod", "secret")
VIEWS = ("/scheduling/", "/scheduling/?view=queue", "/scheduling/?view=log")
REFUSED = "0/2 nodes are available: 2 cannot allocate all claims."


@pytest.fixture
def tried(cluster: Cluster) -> Cluster:
    """A pod of either team waits for this console, one of mine for kube-scheduler."""
    queue_notes.clear(cluster.pk)
    elsewhere: Any = a_pod("elsewhere", namespace=MINE, claim="big", scheduler="default-scheduler")
    elsewhere["status"] = {
        "nominatedNodeName": "gpu-02",
        "conditions": [
            {
                "type": "PodScheduled",
                "status": "False",
                "reason": "Unschedulable",
                "message": REFUSED,
                "lastTransitionTime": "2026-11-29T20:01:00Z",
            }
        ],
    }
    mirror(
        cluster,
        a_pod("waits", namespace=MINE, claim="waits"),
        a_pod("hidden-pod", namespace=THEIRS, claim="concealed"),
        a_pod("lonely", namespace=MINE, template="gone"),
        a_claim("big", namespace=MINE, requests=[a_request(count=3)]),
        elsewhere,
    )
    try_all(cluster)
    return cluster


def text_of(client: Client, address: str) -> str:
    response = client.get(address)
    assert response.status_code == 200
    return response.content.decode()


@pytest.mark.usefixtures("tried")
@pytest.mark.parametrize("address", [*VIEWS, f"/scheduling/?namespace={THEIRS}&view=log"])
def test_nobody_reads_of_a_foreign_namespace(as_researcher: Client, address: str) -> None:
    text = text_of(as_researcher, address)

    assert [name for name in FOREIGN if f">{name}" in text or f"/{name}/" in text] == []


@pytest.mark.usefixtures("tried")
def test_what_waits_is_grouped_and_says_why(as_admin: Client) -> None:
    text = text_of(as_admin, "/scheduling/")

    assert "4 waiting, by what they ask for" in text
    assert "2 claims" in text
    assert "1 pod without claims" in text
    assert "There is no ResourceClaimTemplate gone." in text
    assert f'href="/claims/{MINE}/big/"' in text


@pytest.mark.usefixtures("tried")
def test_outcome_and_namespace_narrow_what_is_shown(as_admin: Client) -> None:
    fits = text_of(as_admin, f"/scheduling/?namespace={MINE}&outcome=fits")
    nothing = text_of(as_admin, f"/scheduling/?namespace={THEIRS}&outcome=broken")

    assert "1 waiting" in fits
    assert "Nothing waits like that" in nothing


@pytest.mark.usefixtures("tried")
def test_the_queue_says_whose_order_is_not_defined(as_researcher: Client) -> None:
    text = text_of(as_researcher, "/scheduling/?view=queue")

    assert "3 in all namespaces" in text
    assert "Their order is not defined here: 1 pod for default-scheduler." in text


@pytest.mark.usefixtures("cluster")
def test_an_empty_page_says_what_to_do_next(as_nobody: Client, as_admin: Client) -> None:
    refused = [text_of(as_nobody, address) for address in VIEWS]
    [_, queue, log] = [text_of(as_admin, address) for address in VIEWS]

    assert all("Ask a cluster administrator for a role" in text for text in refused)
    assert "It places pods that set schedulerName: dra-console" in queue
    assert "while the scheduling worker runs" in log


def test_a_pending_claim_shows_the_clusters_reason_beside_ours(
    tried: Cluster, served: ServedCluster, as_researcher: Client, as_admin: Client
) -> None:
    del tried
    served.client.create(NAMESPACES, unborn(a_namespace(MINE)))
    served.client.create(EVENTS, an_event(), namespace=MINE)

    told = text_of(as_admin, f"/claims/{MINE}/big/")
    not_told = text_of(as_researcher, f"/claims/{MINE}/big/")

    for text in (told, not_told):
        assert f"Unschedulable: {REFUSED}" in text
        assert "same reason" in text
        assert "Room is being made for it on gpu-02." in text
        assert "The order is not defined: default-scheduler schedules its pod" in text
    assert "Event by default-scheduler" in told
    assert f"not known, you may not list events in namespace {MINE}" in not_told


def an_event() -> Any:
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "elsewhere.1", "namespace": MINE},
        "involvedObject": {
            "apiVersion": "v1",
            "kind": "Pod",
            "namespace": MINE,
            "name": "elsewhere",
            "uid": a_uid(f"Pod/{MINE}/elsewhere"),
        },
        "reason": "FailedScheduling",
        "message": REFUSED,
        "source": {"component": "default-scheduler"},
        "lastTimestamp": "2026-11-29T20:02:00Z",
        "type": "Warning",
    }


def test_a_claim_that_waits_for_this_console_shows_its_place(
    tried: Cluster, as_researcher: Client
) -> None:
    del tried
    text = text_of(as_researcher, f"/claims/{MINE}/waits/")

    # Template variables escape the apostrophe.
    assert "Place 2 of 3 in this console&#x27;s queue: it is tried in its turn." in text


def test_two_attempts_are_compared_without_a_script(tried: Cluster, as_researcher: Client) -> None:
    hour = timedelta(hours=1)
    fills = [
        an_allocated_claim(f"fills-{gpu}", namespace=MINE, results=[a_result(gpu, pool="gpu-02")])
        for gpu in ("gpu-0", "gpu-1")
    ]
    mirror(tried, *a_fleet(), *fills, seen_at=TRIED_AT + hour / 2)
    try_all(tried, at=TRIED_AT + hour)
    older, newer = Attempt.objects.filter(pod_name="waits").order_by("pk")

    page = text_of(as_researcher, f"/scheduling/attempts/{newer.pk}/")
    compared = text_of(as_researcher, f"/scheduling/attempts/{newer.pk}/?against={older.pk}")

    assert f'<option value="{older.pk}"' in page
    assert "What differs" not in page
    for words in ("What differs", "does not fit", f"{MINE}/fills-gpu-0", "allocated"):
        assert words in compared
    assert THEIRS not in compared


def test_an_attempt_of_a_foreign_namespace_is_not_there(
    tried: Cluster, as_researcher: Client
) -> None:
    del tried
    foreign = Attempt.objects.get(pod_name="hidden-pod")
    mine = Attempt.objects.get(pod_name="waits")

    for address in (f"{foreign.pk}/", f"{mine.pk}/?against={foreign.pk}"):
        assert as_researcher.get(f"/scheduling/attempts/{address}").status_code == 404
