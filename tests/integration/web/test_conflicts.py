"""The page of conflicts, releases and managed devices, as people see them."""

from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from dra_console.access.models import AuditEntry
from dra_console.allocator.model import JsonObject
from dra_console.kube.kinds import DEVICE_TAINT_RULES, NAMESPACES, RESOURCE_CLAIMS
from dra_console.mirror.models import Cluster, Cursor
from dra_console.scheduling.coexistence.claim_findings import FINALIZER
from dra_console.scheduling.coexistence.look import look
from dra_console.scheduling.models import Conflict
from tests.builders.mirrored import SEEN_AT, mirror
from tests.builders.objects import (
    a_claim,
    a_namespace,
    a_result,
    an_allocated_claim,
    an_allocation,
    unborn,
)
from tests.integration.served_cluster import ServedCluster

pytestmark = pytest.mark.django_db(transaction=True)

PAGE = "/conflicts/"
MANAGED = "/conflicts/managed/"
MOST_QUERIES = 20


@pytest.fixture
def _conflicting(cluster: Cluster) -> None:
    """`held` of the researcher and `rival` of another team have one device."""
    mirror(cluster, an_allocated_claim("rival", namespace="team-vision"))
    look(cluster)


def text_of(client: Client, address: str = PAGE) -> str:
    answer = client.get(address)
    assert answer.status_code == HTTPStatus.OK
    return answer.content.decode()


@pytest.mark.usefixtures("_conflicting")
def test_a_double_booking_is_shown_with_links_to_claims_and_device(as_admin: Client) -> None:
    text = text_of(as_admin)

    assert "Devices given twice" in text
    assert "is given to team-research/held and team-vision/rival" in text
    assert 'href="/claims/team-vision/rival/"' in text
    assert 'href="/devices/gpu.nvidia.com/gpu-01/gpu-0/"' in text
    assert "Checked 3 claims with devices and 4 published devices" in text


@pytest.mark.usefixtures("_conflicting")
def test_claims_of_other_namespaces_are_counted_and_not_named(as_researcher: Client) -> None:
    text = text_of(as_researcher)

    assert "team-research/held and a claim of another namespace" in text
    assert "1 claim of other namespaces" in text
    assert "team-vision" not in text
    assert "rival" not in text


@pytest.mark.usefixtures("_conflicting")
def test_overview_and_rail_lead_to_conflicts(as_admin: Client, as_nobody: Client) -> None:
    overview = text_of(as_admin, "/")

    assert "conflict between those who allocate" in overview
    assert "devices given twice: 1" in overview
    assert "to decide" in overview
    assert "between those who allocate" not in text_of(as_nobody, "/")


def test_without_conflicts_the_page_says_what_was_looked_at(
    as_admin: Client, as_nobody: Client, cluster: Cluster
) -> None:
    assert "Nobody has looked yet" in text_of(as_admin)

    look(cluster)
    Conflict.objects.all().delete()

    assert "Nothing found" in text_of(as_admin)
    assert "Checked 2 claims with devices and 4 published devices" in text_of(as_admin)
    assert "You may not list claims in any namespace" in text_of(as_nobody)


def test_devices_that_are_not_known_are_a_question_mark(as_admin: Client, cluster: Cluster) -> None:
    Cursor.objects.filter(plural="resourceslices").update(served=False)
    look(cluster)

    text = text_of(as_admin)

    assert "and ? devices" in text
    assert "nothing is said that depends on it: resourceslices" in text


@pytest.mark.usefixtures("_conflicting")
def test_the_list_costs_the_same_for_one_finding_and_for_many(
    as_admin: Client, cluster: Cluster
) -> None:
    text_of(as_admin)
    with CaptureQueriesContext(connection) as few:
        text_of(as_admin)
    claims = [
        an_allocated_claim(f"more-{number}", namespace="team-vision", results=[a_result("gpu-1")])
        for number in range(20)
    ]
    mirror(cluster, *claims, seen_at=SEEN_AT.replace(minute=30))
    look(cluster)

    with CaptureQueriesContext(connection) as many:
        text_of(as_admin)

    assert len(many) == len(few) <= MOST_QUERIES


@pytest.fixture
def left_over(served: ServedCluster, cluster: Cluster) -> JsonObject:
    """A claim that is reserved for a pod which never was, as the API server stores it."""
    client = served.client
    client.create(NAMESPACES, unborn(a_namespace("team-research")))
    claim: Any = unborn(a_claim("left-over"))
    claim["metadata"]["finalizers"] = [FINALIZER]
    created = client.create(RESOURCE_CLAIMS, claim, namespace="team-research")
    consumer: JsonObject = {"resource": "pods", "name": "gone", "uid": "gone-uid"}
    status: JsonObject = {
        "allocation": an_allocation(a_result("gpu-1", pool="gpu-02")),
        "reservedFor": [consumer],
    }
    stored = client.replace(RESOURCE_CLAIMS, {**created, "status": status}, subresource="status")
    client.close()
    mirror(cluster, stored)
    look(cluster)
    Conflict.objects.update(told_from=SEEN_AT)
    return stored


@pytest.fixture
def _may_release(served: ServedCluster) -> None:
    namespaces = frozenset({"team-research"})
    served.grant("group:team-research", "pods", "resourceclaims/status", namespaces=namespaces)


@pytest.mark.usefixtures("_may_release", "left_over")
def test_a_claim_that_nobody_uses_is_released_after_a_question(
    as_researcher: Client, served: ServedCluster
) -> None:
    address = "/claims/team-research/left-over/release/"
    assert f'href="{address}"' in text_of(as_researcher)
    question = text_of(as_researcher, address)
    version = question.split('name="resource_version"')[1].split('value="')[1].split('"')[0]

    answer = as_researcher.post(address, {"resource_version": version}, follow=True)

    claim: Any = served.client.get(RESOURCE_CLAIMS, "left-over", namespace="team-research")
    assert "gpu.nvidia.com/gpu-02/gpu-1" in question
    assert "gone" in question
    assert "Claim team-research/left-over is released." in answer.content.decode()
    assert "allocation" not in claim["status"]
    assert not claim["metadata"].get("finalizers")
    assert AuditEntry.objects.count() == 2


@pytest.mark.usefixtures("left_over")
def test_a_release_is_not_offered_to_whoever_may_not_write_the_status(
    as_researcher: Client,
) -> None:
    text = text_of(as_researcher)

    assert "team-research/left-over is reserved for 1 pod that will not use it" in text
    assert "/claims/team-research/left-over/release/" not in text


@pytest.mark.usefixtures("_may_release", "left_over")
def test_a_claim_that_changed_since_the_question_is_left_alone(as_researcher: Client) -> None:
    answer = as_researcher.post(
        "/claims/team-research/left-over/release/", {"resource_version": "1"}, follow=True
    )

    assert "Nothing was released." in answer.content.decode()
    assert "has changed since you looked" in answer.content.decode()


@pytest.mark.usefixtures("left_over")
def test_claims_of_others_have_no_page_to_release_them(as_nobody: Client) -> None:
    answer = as_nobody.get("/claims/team-research/left-over/release/")

    assert answer.status_code == HTTPStatus.NOT_FOUND


@pytest.fixture
def no_rules(served: ServedCluster) -> Iterator[ServedCluster]:
    yield served
    for rule in served.client.list(DEVICE_TAINT_RULES).items:
        metadata: Any = rule["metadata"]
        served.client.delete(DEVICE_TAINT_RULES, metadata["name"])


@pytest.mark.usefixtures("cluster")
def test_devices_are_marked_after_a_look_at_whom_it_concerns(
    as_admin: Client, no_rules: ServedCluster, cluster: Cluster
) -> None:
    question = text_of(as_admin, f"{MANAGED}?pool=gpu-01")
    digest = question.split('name="digest"')[1].split('value="')[1].split('"')[0]

    answer = as_admin.post(
        f"{MANAGED}mark/", {"pool": "gpu-01", "digest": digest}, follow=True
    ).content.decode()

    assert "pool gpu-01: 2 devices, 2 held" in question
    assert 'href="/claims/team-vision/secret/"' in question
    assert "marks pool gpu-01." in answer
    [rule] = no_rules.client.list(DEVICE_TAINT_RULES).items
    mirror(cluster, rule)
    listed = text_of(as_admin, MANAGED)
    metadata: Any = rule["metadata"]
    assert metadata["name"] in listed

    gone = as_admin.post(
        f"{MANAGED}{metadata['name']}/unmark/",
        {"resource_version": metadata["resourceVersion"]},
        follow=True,
    )
    assert "is removed." in gone.content.decode()
    assert not no_rules.client.list(DEVICE_TAINT_RULES).items


@pytest.mark.usefixtures("cluster")
def test_an_empty_selector_is_refused_in_words(as_admin: Client) -> None:
    assert "an empty selector marks every device" in text_of(as_admin, f"{MANAGED}?pool=")


@pytest.mark.usefixtures("cluster")
def test_a_cluster_that_serves_no_taint_rules_says_so(as_admin: Client) -> None:
    Cursor.objects.filter(plural="devicetaintrules").update(served=False)

    text = text_of(as_admin, MANAGED)

    assert "This cluster serves no DeviceTaintRule" in text
    assert "Show whom it concerns" not in text


@pytest.mark.usefixtures("cluster")
def test_whoever_may_not_list_rules_is_refused(as_researcher: Client) -> None:
    assert as_researcher.get(MANAGED).status_code == HTTPStatus.FORBIDDEN
    assert "Managed devices" not in text_of(as_researcher)
