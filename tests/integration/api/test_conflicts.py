"""Conflicts, releases and managed devices over REST: who is told what, and what is done."""

import itertools
from datetime import timedelta
from http import HTTPStatus
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from dra_console.access.models import AuditEntry, Outcome, Scope
from dra_console.allocator.model import JsonObject
from dra_console.kube.kinds import DEVICE_TAINT_RULES, PODS, RESOURCE_CLAIMS
from dra_console.mirror.models import Cluster, Cursor
from dra_console.scheduling.coexistence.claim_findings import FINALIZER
from dra_console.scheduling.coexistence.look import look
from dra_console.scheduling.names import MANAGED_TAINT_KEY
from tests.builders.fleets import a_fleet
from tests.builders.mirrored import SEEN_AT, mirror
from tests.builders.objects import (
    a_claim,
    a_pod,
    a_result,
    an_allocated_claim,
    an_allocation,
    unborn,
)
from tests.integration.api.conftest import client_of
from tests.integration.served_cluster import ServedCluster

CONFLICTS = "/api/v1/conflicts/"
MANAGED = "/api/v1/manageddevices/"
NUMBERS = itertools.count()
"""Objects that finalizers keep outlive their test, so each test has names of its own."""


@pytest.fixture
def _conflicting(cluster: Cluster) -> None:
    """`held` and `rival` have the same device; `secret` and `hidden` of another team, too."""
    mirror(
        cluster,
        *a_fleet(),
        an_allocated_claim("rival", namespace="team-vision"),
        an_allocated_claim("hidden", namespace="team-vision", results=[a_result("gpu-1")]),
    )
    look(cluster)


def told(client: Client, **query: str) -> list[Any]:
    answer = client.get(CONFLICTS, query)
    assert answer.status_code == HTTPStatus.OK, answer.content
    items: list[Any] = answer.json()["items"]
    return items


@pytest.mark.usefixtures("_conflicting")
def test_an_administrator_is_told_of_every_conflict_by_name(as_admin: Client) -> None:
    first, second, *_ = told(as_admin)

    assert first["kind"] == second["kind"] == "double-booking"
    assert first["headline"] == (
        "gpu.nvidia.com/gpu-01/gpu-0 is given to team-research/held and team-vision/rival"
    )
    assert first["severity"] == "harm"
    assert first["hiddenClaims"] == 0


@pytest.mark.usefixtures("_conflicting")
def test_a_user_is_told_of_their_own_claims_and_only_the_number_of_others(
    as_researcher: Client,
) -> None:
    [conflict] = told(as_researcher, kind="double-booking")

    assert conflict["headline"] == (
        "gpu.nvidia.com/gpu-01/gpu-0 is given to team-research/held and"
        " a claim of another namespace"
    )
    assert [claim["name"] for claim in conflict["claims"]] == ["held"]
    assert conflict["hiddenClaims"] == 1
    assert "team-vision" not in str(conflict)


@pytest.mark.usefixtures("_conflicting")
def test_whoever_may_see_no_claim_is_told_nothing(as_nobody: Client) -> None:
    summary = as_nobody.get(f"{CONFLICTS}summary/").json()

    assert not told(as_nobody)
    assert summary["counts"] == []
    assert (summary["claims"], summary["devices"]) == (4, 4)


@pytest.mark.usefixtures("_conflicting")
def test_the_summary_counts_what_the_reader_may_know(
    as_admin: Client, as_researcher: Client
) -> None:
    of_admin = as_admin.get(f"{CONFLICTS}summary/").json()["counts"]
    of_researcher = as_researcher.get(f"{CONFLICTS}summary/").json()["counts"]

    assert {"kind": "double-booking", "count": 2} in of_admin
    assert {"kind": "double-booking", "count": 1} in of_researcher


@pytest.mark.usefixtures("_conflicting")
def test_pages_of_conflicts_hold_each_once(as_admin: Client) -> None:
    first = as_admin.get(CONFLICTS, {"limit": "1"}).json()
    rest = as_admin.get(CONFLICTS, {"limit": "1", "continue": first["metadata"]["continue"]}).json()

    assert first["items"] != rest["items"]


@pytest.mark.usefixtures("_conflicting")
def test_metrics_count_conflicts_by_kind(as_admin: Client) -> None:
    text = as_admin.get("/metrics").content.decode()

    assert 'dra_console_conflicts{cluster="served",kind="double-booking"} 2.0' in text
    assert 'dra_console_conflicts{cluster="served",kind="overdrawn-counters"} 0.0' in text


def a_claim_of_a_pod(served: ServedCluster, *, phase: str) -> JsonObject:
    """Store a claim, allocated and reserved for a pod of the same name in this phase."""
    name = f"done-{next(NUMBERS)}"
    client = served.client
    pod = client.create(PODS, unborn(a_pod(name, claim=name)), namespace="team-research")
    client.replace(PODS, {**pod, "status": {"phase": phase}}, subresource="status")
    claim: Any = unborn(a_claim(name))
    claim["metadata"]["finalizers"] = [FINALIZER, "example.com/billing"]
    created = client.create(RESOURCE_CLAIMS, claim, namespace="team-research")
    metadata = pod["metadata"]
    assert isinstance(metadata, dict)
    consumer: JsonObject = {"resource": "pods", "name": name, "uid": metadata["uid"]}
    status: JsonObject = {"allocation": an_allocation(), "reservedFor": [consumer]}
    stored = client.replace(RESOURCE_CLAIMS, {**created, "status": status}, subresource="status")
    client.close()
    return stored


def release_of(stored: JsonObject) -> str:
    metadata = stored["metadata"]
    assert isinstance(metadata, dict)
    return f"/api/v1/resourceclaims/team-research/{metadata['name']}/release/"


@pytest.fixture
def _may_release(served: ServedCluster) -> None:
    namespaces = frozenset({"team-research"})
    served.grant("group:team-research", "pods", "resourceclaims/status", namespaces=namespaces)


def version_of(stored: JsonObject) -> str:
    metadata = stored["metadata"]
    assert isinstance(metadata, dict)
    return str(metadata["resourceVersion"])


@pytest.mark.usefixtures("_may_release")
def test_a_claim_of_a_finished_pod_is_released_as_the_person_and_audited(
    as_researcher: Client, served: ServedCluster, cluster: Cluster
) -> None:
    stored = a_claim_of_a_pod(served, phase="Succeeded")
    mirror(cluster, stored)

    answer = as_researcher.post(release_of(stored), headers={"If-Match": f'"{version_of(stored)}"'})

    assert answer.status_code == HTTPStatus.OK, answer.content
    claim = answer.json()
    assert "allocation" not in claim["status"]
    assert "reservedFor" not in claim["status"]
    assert claim["metadata"]["finalizers"] == ["example.com/billing"]
    entries = AuditEntry.objects.order_by("pk")
    assert [(one.kubernetes_username, one.verb, one.outcome) for one in entries] == [
        ("researcher", "update", Outcome.DONE)
    ] * 2


@pytest.mark.usefixtures("_may_release")
def test_a_claim_that_a_pod_uses_is_not_released(
    as_researcher: Client, served: ServedCluster, cluster: Cluster
) -> None:
    stored = a_claim_of_a_pod(served, phase="Running")
    mirror(cluster, stored)

    answer = as_researcher.post(release_of(stored), headers={"If-Match": version_of(stored)})

    assert answer.status_code == HTTPStatus.CONFLICT
    assert answer.json()["type"].endswith("in-use")
    assert answer.json()["detail"].endswith("uses it: Running.")
    assert not AuditEntry.objects.exists()


@pytest.mark.usefixtures("_may_release")
def test_a_claim_that_changed_since_it_was_seen_is_not_released(
    as_researcher: Client, served: ServedCluster, cluster: Cluster
) -> None:
    stored = a_claim_of_a_pod(served, phase="Succeeded")
    mirror(cluster, stored)

    old = as_researcher.post(release_of(stored), headers={"If-Match": '"1"'})
    none = as_researcher.post(release_of(stored))

    assert old.status_code == HTTPStatus.PRECONDITION_FAILED
    assert none.status_code == HTTPStatus.PRECONDITION_REQUIRED


def test_a_claim_is_not_released_where_its_pods_cannot_be_asked_for(
    as_researcher: Client, served: ServedCluster, cluster: Cluster
) -> None:
    stored = a_claim_of_a_pod(served, phase="Succeeded")
    mirror(cluster, stored)

    answer = as_researcher.post(release_of(stored), headers={"If-Match": version_of(stored)})

    assert answer.status_code == HTTPStatus.FORBIDDEN
    assert "pods" in answer.json()["detail"]


@pytest.fixture
def _rules_are_served(cluster: Cluster, served: ServedCluster) -> None:
    for rule in served.client.list(DEVICE_TAINT_RULES).items:
        metadata = rule["metadata"]
        assert isinstance(metadata, dict)
        served.client.delete(DEVICE_TAINT_RULES, str(metadata["name"]))
    mirror(cluster, *a_fleet())


def preview(client: Client, **selector: str) -> Any:
    answer = client.get(f"{MANAGED}preview/", selector)
    assert answer.status_code == HTTPStatus.OK, answer.content
    return answer.json()


@pytest.mark.usefixtures("_rules_are_served")
def test_devices_are_marked_by_a_rule_after_a_look_at_whom_it_concerns(
    as_admin: Client, served: ServedCluster, cluster: Cluster
) -> None:
    seen = preview(as_admin, pool="gpu-01")

    answer = as_admin.post(
        MANAGED, {"pool": "gpu-01", "digest": seen["digest"]}, content_type="application/json"
    )

    assert seen["devices"] == 2
    assert [one["claim"] for one in seen["holdings"]] == ["held", "secret"]
    assert answer.status_code == HTTPStatus.CREATED, answer.content
    [rule] = served.client.list(DEVICE_TAINT_RULES).items
    spec: Any = rule["spec"]
    assert spec["deviceSelector"] == {"pool": "gpu-01"}
    assert (spec["taint"]["key"], spec["taint"]["effect"]) == (MANAGED_TAINT_KEY, "NoSchedule")
    assert AuditEntry.objects.get().plural == "devicetaintrules"

    mirror(cluster, rule, seen_at=SEEN_AT + timedelta(minutes=1))
    [listed] = as_admin.get(MANAGED).json()["items"]
    gone = as_admin.delete(
        f"{MANAGED}{listed['name']}/", headers={"If-Match": listed["resourceVersion"]}
    )
    assert listed["concerned"]["devices"] == 2
    assert gone.status_code == HTTPStatus.ACCEPTED
    assert not served.client.list(DEVICE_TAINT_RULES).items


@pytest.mark.usefixtures("_rules_are_served")
def test_nothing_is_marked_if_somebody_else_holds_the_devices_by_now(
    as_admin: Client, cluster: Cluster, served: ServedCluster
) -> None:
    seen = preview(as_admin, pool="gpu-02")
    held = an_allocated_claim("new", results=[a_result("gpu-0", pool="gpu-02")])
    mirror(cluster, held, seen_at=SEEN_AT + timedelta(minutes=1))

    answer = as_admin.post(
        MANAGED, {"pool": "gpu-02", "digest": seen["digest"]}, content_type="application/json"
    )

    assert answer.status_code == HTTPStatus.PRECONDITION_FAILED
    assert not served.client.list(DEVICE_TAINT_RULES).items


@pytest.mark.usefixtures("_rules_are_served")
def test_an_empty_selector_marks_nothing(as_admin: Client) -> None:
    answer = as_admin.post(
        MANAGED, {"digest": preview(as_admin)["digest"]}, content_type="application/json"
    )

    assert answer.status_code == HTTPStatus.UNPROCESSABLE_ENTITY
    assert answer.json()["type"].endswith("empty-selector")


@pytest.mark.usefixtures("_rules_are_served")
def test_whoever_may_not_write_rules_marks_nothing(
    as_researcher: Client, served: ServedCluster
) -> None:
    served.grant("group:team-research", "devicetaintrules", verbs=frozenset({"list"}))
    seen = preview(as_researcher, pool="gpu-01")

    answer = as_researcher.post(
        MANAGED, {"pool": "gpu-01", "digest": seen["digest"]}, content_type="application/json"
    )

    assert [one["claim"] for one in seen["holdings"]] == ["held"]
    assert seen["hiddenHoldings"] == 1
    assert answer.status_code == HTTPStatus.FORBIDDEN
    assert 'User "researcher" cannot create' in answer.json()["detail"]


@pytest.mark.usefixtures("_rules_are_served")
def test_a_cluster_without_taint_rules_says_so(as_admin: Client) -> None:
    Cursor.objects.filter(plural="devicetaintrules").update(served=False)

    answer = as_admin.get(MANAGED)

    assert answer.status_code == HTTPStatus.CONFLICT
    assert answer.json()["detail"].startswith("This cluster serves no DeviceTaintRule")


@pytest.mark.usefixtures("_rules_are_served")
def test_a_token_for_reading_marks_nothing(admin: User) -> None:
    reader = client_of(admin, scope=Scope.READ)

    answer = reader.post(
        MANAGED, {"pool": "gpu-01", "digest": "x"}, content_type="application/json"
    )

    assert answer.status_code == HTTPStatus.FORBIDDEN
