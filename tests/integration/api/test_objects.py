"""Single objects: read, created, deleted, explained."""

from datetime import UTC, datetime, timedelta
from http import HTTPStatus

import pytest
from django.contrib.auth.models import User
from django.test import Client

from dra_console.access.models import AuditEntry, Outcome
from dra_console.allocator.model import JsonObject
from dra_console.kube.errors import NotFoundError
from dra_console.kube.kinds import RESOURCE_CLAIM_TEMPLATES, RESOURCE_CLAIMS
from dra_console.mirror.models import Cluster, ResourceClaim
from dra_console.scheduling.whatif.preview import preview
from tests.builders.attempts import record
from tests.builders.fleets import a_fleet
from tests.builders.mirrored import mirror
from tests.builders.objects import (
    a_claim,
    a_device,
    a_request,
    a_slice,
    a_template,
    unborn,
)
from tests.integration.served_cluster import ServedCluster

CLAIMS = "/api/v1/resourceclaims/"
TEMPLATES = "/api/v1/resourceclaimtemplates/"
NOW = datetime(2026, 11, 29, 20, 0, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _mirrored_fleet(cluster: Cluster) -> None:
    mirror(cluster, *a_fleet())


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("resourceclaims/team-research/held/", "ResourceClaim"),
        ("resourceclaimtemplates/team-research/one-gpu/", "ResourceClaimTemplate"),
        ("resourceslices/gpu-01-gpu.nvidia.com/", "ResourceSlice"),
        ("deviceclasses/gpu.nvidia.com/", "DeviceClass"),
        ("nodes/gpu-01/", "Node"),
    ],
)
def test_an_object_reads_as_in_kubernetes_with_its_version_as_etag(
    as_researcher: Client, address: str, kind: str
) -> None:
    answer = as_researcher.get(f"/api/v1/{address}")

    assert answer.status_code == HTTPStatus.OK
    assert answer.json()["kind"] == kind
    assert answer.headers["ETag"] == '"1"'
    assert answer.headers["X-Mirror-ResourceVersion"] == "100"


def test_one_device_and_one_pool_read_as_in_their_lists_but_for_details(as_admin: Client) -> None:
    [device, *_] = as_admin.get("/api/v1/devices/").json()["items"]
    [pool, *_] = as_admin.get("/api/v1/pools/").json()["items"]

    alone = as_admin.get("/api/v1/devices/gpu.nvidia.com/gpu-01/gpu-0/").json()
    assert alone == {**device, "details": None}
    assert as_admin.get("/api/v1/pools/gpu.nvidia.com/gpu-01/").json() == pool
    assert as_admin.get("/api/v1/devices/gpu.nvidia.com/gpu-01/gpu-9/").status_code == 404
    assert as_admin.get("/api/v1/pools/gpu.nvidia.com/gpu-99/").status_code == 404


def test_a_pool_name_may_hold_slashes(as_admin: Client, cluster: Cluster) -> None:
    mirror(cluster, a_slice("s", node="gpu-01", pool="rack-1/shelf-2", devices=[a_device("d")]))

    for address in (
        "pools/gpu.nvidia.com/rack-1/shelf-2/",
        "pools/gpu.nvidia.com/rack-1%2Fshelf-2/",
    ):
        assert as_admin.get(f"/api/v1/{address}").json()["pool"] == "rack-1/shelf-2"
    device = as_admin.get("/api/v1/devices/gpu.nvidia.com/rack-1/shelf-2/d/").json()
    assert (device["pool"], device["device"]) == ("rack-1/shelf-2", "d")


def test_a_claim_is_created_as_its_author_and_audited(
    as_researcher: Client, researcher: User, served: ServedCluster
) -> None:
    answer = as_researcher.post(CLAIMS, unborn(a_claim("new")), content_type="application/json")

    assert answer.status_code == HTTPStatus.CREATED, answer.content
    assert answer.headers["Location"] == f"{CLAIMS}team-research/new/"
    stored = served.client.get(RESOURCE_CLAIMS, "new", namespace="team-research")
    assert answer.json() == stored
    assert answer.headers["ETag"] == f'"{stored["metadata"]["resourceVersion"]}"'  # type: ignore[index,call-overload]  # an object of the API server
    entry = AuditEntry.objects.get()
    assert (entry.user, entry.verb, entry.name) == (researcher, "create", "new")
    assert (entry.outcome, entry.dry_run) == (Outcome.DONE, False)


def test_apiversion_and_kind_may_be_left_out(as_researcher: Client) -> None:
    claim = unborn(a_claim("new"))
    del claim["apiVersion"], claim["kind"]

    answer = as_researcher.post(CLAIMS, claim, content_type="application/json")

    assert answer.status_code == HTTPStatus.CREATED
    assert answer.json()["kind"] == "ResourceClaim"


def test_a_generated_name_is_in_location_and_audit(as_researcher: Client) -> None:
    claim = unborn(a_claim())
    claim["metadata"] = {"namespace": "team-research", "generateName": "train-"}

    answer = as_researcher.post(CLAIMS, claim, content_type="application/json")

    name = answer.json()["metadata"]["name"]
    assert answer.headers["Location"] == f"{CLAIMS}team-research/{name}/"
    assert AuditEntry.objects.get().name == name


def test_a_dry_run_answers_with_the_object_and_stores_nothing(
    as_researcher: Client, served: ServedCluster
) -> None:
    answer = as_researcher.post(
        f"{TEMPLATES}?dryRun=All", unborn(a_template("new")), content_type="application/json"
    )

    assert answer.status_code == HTTPStatus.OK
    assert answer.json()["metadata"]["name"] == "new"
    with pytest.raises(NotFoundError):
        served.client.get(RESOURCE_CLAIM_TEMPLATES, "new", namespace="team-research")
    assert AuditEntry.objects.get().dry_run


def test_the_cluster_decides_who_may_create_where(as_researcher: Client) -> None:
    answer = as_researcher.post(
        CLAIMS, unborn(a_claim("new", namespace="team-vision")), content_type="application/json"
    )

    assert answer.status_code == HTTPStatus.FORBIDDEN
    problem = answer.json()
    assert problem["type"] == "urn:dra-console:problem:forbidden-by-cluster"
    assert 'User "researcher" cannot create' in problem["detail"]
    entry = AuditEntry.objects.get()
    assert entry.outcome == Outcome.REFUSED
    assert entry.namespace == "team-vision"


def test_a_name_that_is_taken_is_a_conflict(as_researcher: Client) -> None:
    claim = unborn(a_claim("new"))
    as_researcher.post(CLAIMS, claim, content_type="application/json")

    answer = as_researcher.post(CLAIMS, claim, content_type="application/json")

    assert answer.status_code == HTTPStatus.CONFLICT
    assert answer.json()["type"] == "urn:dra-console:problem:conflict"


def pointers(answer: JsonObject) -> list[object]:
    errors = answer["errors"]
    assert isinstance(errors, list)
    return [error["pointer"] for error in errors if isinstance(error, dict)]


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"kind": "Pod"}, "/kind"),
        ({"apiVersion": "resource.k8s.io/v1beta1"}, "/apiVersion"),
        ({"metadata": None}, "/metadata"),
        ({"metadata": {"name": "x"}}, "/metadata/namespace"),
        ({"metadata": {"namespace": "team-research"}}, "/metadata/name"),
        (
            {"spec": {"devices": {"requests": [a_request(count=33)]}}},
            "/spec/devices/requests",
        ),
        ({"spec": {"devices": {"requests": "all"}}}, "/spec/devices/requests"),
    ],
)
def test_a_refused_field_is_pointed_at_and_nothing_is_sent(
    as_researcher: Client, change: JsonObject, pointer: str
) -> None:
    claim = {**unborn(a_claim("new")), **change}

    answer = as_researcher.post(CLAIMS, claim, content_type="application/json")

    assert answer.status_code == HTTPStatus.UNPROCESSABLE_ENTITY, answer.content
    assert pointer in pointers(answer.json())
    assert not AuditEntry.objects.exists()


@pytest.mark.parametrize(
    ("body", "content_type", "status"),
    [
        ("{", "application/json", HTTPStatus.BAD_REQUEST),
        ('{"a": NaN}', "application/json", HTTPStatus.BAD_REQUEST),
        ("[" * 200_000, "application/json", HTTPStatus.BAD_REQUEST),
        ("[" * 101 + "]" * 101, "application/json", HTTPStatus.BAD_REQUEST),
        ("[" * 99 + "]" * 99, "application/json", HTTPStatus.UNPROCESSABLE_ENTITY),
        (" " * 1_500_001, "application/json", HTTPStatus.REQUEST_ENTITY_TOO_LARGE),
        ("[]", "application/json", HTTPStatus.UNPROCESSABLE_ENTITY),
        ('"text"', "application/json", HTTPStatus.UNPROCESSABLE_ENTITY),
        ("a: b", "application/yaml", HTTPStatus.UNSUPPORTED_MEDIA_TYPE),
        ("a=b", "application/x-www-form-urlencoded", HTTPStatus.UNSUPPORTED_MEDIA_TYPE),
    ],
)
def test_a_body_that_is_no_object_is_refused(
    as_researcher: Client, body: str, content_type: str, status: HTTPStatus
) -> None:
    answer = as_researcher.post(CLAIMS, body, content_type=content_type)

    assert answer.status_code == status
    assert answer.headers["Content-Type"] == "application/problem+json"


def stored_claim(served: ServedCluster, cluster: Cluster, name: str = "mine") -> JsonObject:
    """Create a claim in the cluster and mirror it."""
    stored = served.client.create(RESOURCE_CLAIMS, unborn(a_claim(name)), namespace="team-research")
    mirror(cluster, stored)
    return stored


def test_a_claim_is_deleted_by_the_version_that_was_seen(
    as_researcher: Client, served: ServedCluster, cluster: Cluster
) -> None:
    stored_claim(served, cluster)
    etag = as_researcher.get(f"{CLAIMS}team-research/mine/").headers["ETag"]

    answer = as_researcher.delete(f"{CLAIMS}team-research/mine/", headers={"If-Match": etag})

    assert answer.status_code == HTTPStatus.ACCEPTED
    with pytest.raises(NotFoundError):
        served.client.get(RESOURCE_CLAIMS, "mine", namespace="team-research")
    entry = AuditEntry.objects.get()
    assert (entry.verb, entry.outcome) == ("delete", Outcome.DONE)
    assert entry.diff[0]["before"]["metadata"]["name"] == "mine"
    assert ResourceClaim.objects.filter(name="mine").exists()


def test_a_deletion_without_a_version_is_refused(
    as_researcher: Client, served: ServedCluster, cluster: Cluster
) -> None:
    stored_claim(served, cluster)

    answer = as_researcher.delete(f"{CLAIMS}team-research/mine/")

    assert answer.status_code == HTTPStatus.PRECONDITION_REQUIRED
    assert not AuditEntry.objects.exists()


def test_a_deletion_of_an_older_version_tells_both(
    as_researcher: Client, served: ServedCluster, cluster: Cluster
) -> None:
    stored_claim(served, cluster)
    current = ResourceClaim.objects.get(name="mine").resource_version

    answer = as_researcher.delete(f"{CLAIMS}team-research/mine/", headers={"If-Match": '"0"'})

    assert answer.status_code == HTTPStatus.PRECONDITION_FAILED
    problem = answer.json()
    assert (problem["yourVersion"], problem["currentVersion"]) == ("0", current)


def test_a_claim_that_changed_behind_the_mirror_is_not_deleted(
    as_researcher: Client, served: ServedCluster, cluster: Cluster
) -> None:
    stored_claim(served, cluster)
    etag = as_researcher.get(f"{CLAIMS}team-research/mine/").headers["ETag"]
    served.client.merge_patch(
        RESOURCE_CLAIMS,
        "mine",
        {"metadata": {"labels": {"changed": "yes"}}},
        namespace="team-research",
    )

    answer = as_researcher.delete(f"{CLAIMS}team-research/mine/", headers={"If-Match": etag})

    assert answer.status_code == HTTPStatus.PRECONDITION_FAILED
    assert AuditEntry.objects.get().outcome == Outcome.REFUSED
    assert served.client.get(RESOURCE_CLAIMS, "mine", namespace="team-research")


def test_an_explanation_tells_the_numbers_of_the_latest_attempt(
    as_researcher: Client, cluster: Cluster
) -> None:
    claim = ResourceClaim.objects.get(name="waits")
    tried = preview(cluster, claim.raw["spec"]).explanation
    record(claim, tried, pod_name="", at=NOW)

    answer = as_researcher.get(f"{CLAIMS}team-research/waits/explain/").json()

    assert answer["asOf"] == "2026-11-29T20:00:00+00:00"
    assert answer["headline"] == tried.headline
    assert answer["funnel"] == tried.to_json()["funnel"]
    parts = [count for name, count in answer["funnel"].items() if name != "considered"]
    assert sum(parts) == answer["funnel"]["considered"] == 4


def test_a_claim_that_was_never_tried_is_explained_now(as_researcher: Client) -> None:
    answer = as_researcher.get(f"{CLAIMS}team-research/waits/explain")

    assert answer.status_code == HTTPStatus.OK
    assert answer.json()["asOf"] is None
    assert answer.json()["outcome"] == "fits"


def test_an_explanation_hides_who_holds_a_device_in_a_foreign_namespace(
    as_researcher: Client, as_admin: Client, cluster: Cluster
) -> None:
    five = [a_request(count=5)]
    mirror(cluster, a_claim("five", requests=five))
    address = f"{CLAIMS}team-research/five/explain/"

    hidden, whole = as_researcher.get(address), as_admin.get(address)

    assert b"team-vision" in whole.content
    for foreign in (b"team-vision", b"secret"):
        assert foreign not in hidden.content
    assert b"taken by another namespace" in hidden.content
    assert hidden.json()["funnel"] == whole.json()["funnel"]


def test_a_claim_that_another_scheduler_allocated_has_no_explanation(
    as_researcher: Client,
) -> None:
    answer = as_researcher.get(f"{CLAIMS}team-research/held/explain/")

    assert answer.status_code == HTTPStatus.NOT_FOUND
    assert answer.json()["type"] == "urn:dra-console:problem:no-attempt"


def test_a_try_that_failed_does_not_explain_a_claim_that_was_allocated_since(
    as_researcher: Client, cluster: Cluster
) -> None:
    claim = ResourceClaim.objects.get(name="held")
    spec: JsonObject = {"devices": {"requests": [a_request(count=5)]}}
    record(claim, preview(cluster, spec).explanation, pod_name="", at=NOW)

    answer = as_researcher.get(f"{CLAIMS}team-research/held/explain/")
    listed = as_researcher.get(f"{CLAIMS}team-research/held/attempts/").json()["items"]

    assert answer.json()["type"] == "urn:dra-console:problem:no-attempt"
    assert [one["outcome"] for one in listed] == ["does-not-fit"]


def test_attempts_are_listed_newest_first(as_researcher: Client, cluster: Cluster) -> None:
    claim = ResourceClaim.objects.get(name="waits")
    for count, hour in ((5, 18), (1, 19)):
        spec: JsonObject = {"devices": {"requests": [a_request(count=count)]}}
        at = NOW.replace(hour=hour)
        tried = preview(cluster, spec).explanation
        record(claim, tried, pod_name="train", at=at)
        record(claim, tried, pod_name="train", at=at + timedelta(minutes=1))

    items = as_researcher.get(f"{CLAIMS}team-research/waits/attempts/").json()["items"]

    assert [one["repeats"] for one in items] == [1, 1]
    assert [one["lastAt"] for one in items] == ["2026-11-29T19:01:00Z", "2026-11-29T18:01:00Z"]
    assert [one["outcome"] for one in items] == ["fits", "does-not-fit"]
    assert {one["pod"] for one in items} == {"train"}
