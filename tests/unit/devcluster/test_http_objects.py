from collections.abc import Iterator
from pathlib import Path

import pytest

from dra_console.allocator.model import Json, JsonObject
from dra_console.devcluster.cluster import Cluster
from dra_console.devcluster.metadata import metadata_of
from dra_console.devcluster.protobuf import MAGIC
from dra_console.kube.kinds import NODES, PODS, RESOURCE_CLAIMS, RESOURCE_SLICES
from tests.unit.devcluster.asking import a_cluster, a_request, ask
from tests.unit.devcluster.things import (
    LAB,
    an_allocation,
    new_claim,
    new_pod,
    new_slice,
    with_namespace,
)

CLAIMS = RESOURCE_CLAIMS.path(LAB)
CLAIM = RESOURCE_CLAIMS.path(LAB, "gpu")
TABLE = (("accept", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"),)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    cluster = a_cluster(tmp_path)
    with_namespace(cluster.store)
    yield cluster
    cluster.store.close()


def patch(cluster: Cluster, path: str, body: Json, *, kind: str) -> tuple[int, JsonObject]:
    headers = (("content-type", f"application/{kind}"),)
    return ask(cluster, a_request("PATCH", path, body, headers=headers))


def names(listed: JsonObject) -> list[Json]:
    items = listed["items"]
    assert isinstance(items, list)
    return [metadata_of(item)["name"] for item in items if isinstance(item, dict)]


def test_created_object_is_answered_with_201_and_can_be_read(cluster: Cluster) -> None:
    status, created = ask(cluster, a_request("POST", CLAIMS, new_claim()))

    assert status == 201
    assert ask(cluster, a_request("GET", CLAIM)) == (200, created)


def test_dry_run_shows_the_object_and_stores_nothing(cluster: Cluster) -> None:
    request = a_request("POST", CLAIMS, new_claim(), query={"dryRun": "All"})

    status, shown = ask(cluster, request)

    assert status == 201
    assert metadata_of(shown)["uid"]
    assert cluster.store.list(RESOURCE_CLAIMS).items == []


def test_unknown_dry_run_is_refused(cluster: Cluster) -> None:
    request = a_request("POST", CLAIMS, new_claim(), query={"dryRun": "some"})

    assert ask(cluster, request)[0] == 422


def test_refusal_is_a_status_with_causes_and_details(cluster: Cluster) -> None:
    status, refusal = ask(cluster, a_request("POST", CLAIMS, new_claim("Bad_Name")))

    assert status == 422
    assert refusal["reason"] == "Invalid"
    assert str(refusal["message"]).startswith(
        'ResourceClaim.resource.k8s.io "Bad_Name" is invalid: metadata.name: Invalid value'
    )
    details = refusal["details"]
    assert isinstance(details, dict)
    assert details["kind"] == "ResourceClaim"
    causes = details["causes"]
    assert isinstance(causes, list)
    (cause,) = causes
    assert isinstance(cause, dict)
    assert (cause["field"], cause["reason"]) == ("metadata.name", "FieldValueInvalid")


def test_object_of_another_kind_than_the_path_is_refused(cluster: Cluster) -> None:
    body: JsonObject = {**new_pod(), "apiVersion": "v1", "kind": "Pod"}

    status, refusal = ask(cluster, a_request("POST", CLAIMS, body))

    assert status == 400
    assert "expected ResourceClaim in resource.k8s.io/v1" in str(refusal["message"])


def test_namespace_of_the_body_must_be_that_of_the_path(cluster: Cluster) -> None:
    with_namespace(cluster.store, "other")

    status, _ = ask(cluster, a_request("POST", RESOURCE_CLAIMS.path("other"), new_claim()))

    assert status == 400


def test_yaml_is_read_and_its_times_stay_text(cluster: Cluster) -> None:
    body = b"metadata: {name: n, annotations: {at: 2026-01-01T00:00:00Z}}\nspec: {}\n"
    request = a_request("POST", NODES.path(), headers=(("content-type", "application/yaml"),))
    request = type(request)(request.method, request.path, {}, request.headers, body)

    status, node = ask(cluster, request)

    assert status == 201
    assert metadata_of(node)["annotations"] == {"at": "2026-01-01T00:00:00Z"}


def test_namespace_in_protobuf_is_read_as_kubectl_sends_it(cluster: Cluster) -> None:
    unknown = (
        b"\x0a\x0f\x0a\x02v1\x12\x09Namespace\x12\x0e\x0a\x08\x0a\x04team\x12\x00\x12\x00\x1a\x00"
    )
    headers = (("content-type", "application/vnd.kubernetes.protobuf"),)
    request = a_request("POST", "/api/v1/namespaces", headers=headers)
    request = type(request)(request.method, request.path, {}, headers, MAGIC + unknown)

    status, namespace = ask(cluster, request)

    assert status == 201
    assert metadata_of(namespace)["name"] == "team"


@pytest.mark.parametrize("body", [b"{", b"[1]", b"\xff"])
def test_body_that_is_no_object_is_refused(cluster: Cluster, body: bytes) -> None:
    request = a_request("POST", CLAIMS)

    broken = type(request)(request.method, request.path, {}, (), body)

    assert ask(cluster, broken)[0] == 400


def test_list_items_carry_no_kind_and_the_list_a_version(cluster: Cluster) -> None:
    ask(cluster, a_request("POST", CLAIMS, new_claim()))

    _, listed = ask(cluster, a_request("GET", CLAIMS))

    assert listed["kind"] == "ResourceClaimList"
    assert listed["metadata"] == {"resourceVersion": str(cluster.store.resource_version)}
    items = listed["items"]
    assert isinstance(items, list)
    assert isinstance(items[0], dict)
    assert list(items[0]) == ["metadata", "spec", "status"]


def test_list_is_selected_by_labels_and_fields(cluster: Cluster) -> None:
    for name, node in (("a", "n1"), ("b", "n2")):
        ask(cluster, a_request("POST", PODS.path(LAB), new_pod(name, node=node)))

    query = {"fieldSelector": "spec.nodeName=n2"}

    assert names(ask(cluster, a_request("GET", PODS.path(), query=query))[1]) == ["b"]


def test_pages_of_a_list_are_one_picture_whatever_happens_between(cluster: Cluster) -> None:
    for number in range(5):
        cluster.store.create(NODES, {"metadata": {"name": f"n{number}"}})
    path = NODES.path()

    _, first = ask(cluster, a_request("GET", path, query={"limit": "2"}))
    cluster.store.delete(NODES, "", "n3")
    cluster.store.create(NODES, {"metadata": {"name": "n31"}})
    token = str(metadata_of(first)["continue"])
    _, second = ask(cluster, a_request("GET", path, query={"limit": "2", "continue": token}))
    token = str(metadata_of(second)["continue"])
    _, third = ask(cluster, a_request("GET", path, query={"limit": "2", "continue": token}))

    assert names(first) + names(second) + names(third) == ["n0", "n1", "n2", "n3", "n4"]
    assert metadata_of(first)["remainingItemCount"] == 3
    assert metadata_of(third)["resourceVersion"] == metadata_of(first)["resourceVersion"]
    assert "continue" not in metadata_of(third)


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ({"continue": "nonsense"}, 400),
        ({"limit": "-1"}, 400),
        ({"resourceVersion": "abc"}, 400),
        ({"resourceVersion": "999999"}, 504),
        ({"resourceVersionMatch": "Exact"}, 422),
        ({"labelSelector": "a b"}, 400),
        ({"fieldSelector": "spec.driver=x"}, 400),
    ],
)
def test_list_parameter_that_cannot_be_met_is_refused(
    cluster: Cluster, query: dict[str, str], status: int
) -> None:
    assert ask(cluster, a_request("GET", PODS.path(), query=query))[0] == status


def test_exact_version_lists_the_past(cluster: Cluster) -> None:
    cluster.store.create(NODES, {"metadata": {"name": "a"}})
    version = str(cluster.store.resource_version)
    cluster.store.create(NODES, {"metadata": {"name": "b"}})
    query = {"resourceVersion": version, "resourceVersionMatch": "Exact"}

    assert names(ask(cluster, a_request("GET", NODES.path(), query=query))[1]) == ["a"]


def test_table_has_the_columns_of_the_kind(cluster: Cluster) -> None:
    ask(cluster, a_request("POST", CLAIMS, new_claim()))

    _, table = ask(cluster, a_request("GET", CLAIMS, headers=TABLE))

    definitions, rows = table["columnDefinitions"], table["rows"]
    assert isinstance(definitions, list)
    assert isinstance(rows, list)
    columns = [column["name"] for column in definitions if isinstance(column, dict)]
    assert columns == ["Name", "State", "Age"]
    assert isinstance(rows[0], dict)
    assert rows[0]["cells"] == ["gpu", "pending", "0s"]


def test_only_media_types_that_can_be_written_are_accepted(cluster: Cluster) -> None:
    headers = (("accept", "application/vnd.kubernetes.protobuf"),)

    assert ask(cluster, a_request("GET", CLAIMS, headers=headers))[0] == 406


def test_put_of_an_old_version_conflicts(cluster: Cluster) -> None:
    _, created = ask(cluster, a_request("POST", CLAIMS, new_claim()))
    patch(cluster, CLAIM, {"metadata": {"labels": {"a": "b"}}}, kind="merge-patch+json")

    status, refusal = ask(cluster, a_request("PUT", CLAIM, created))

    assert status == 409
    assert refusal["reason"] == "Conflict"


def test_status_subresource_writes_the_status_alone(cluster: Cluster) -> None:
    ask(cluster, a_request("POST", CLAIMS, new_claim()))
    body: JsonObject = {
        "metadata": {"labels": {"a": "b"}},
        "status": {"allocation": an_allocation()},
    }

    _, claim = patch(cluster, f"{CLAIM}/status", body, kind="merge-patch+json")

    assert claim["status"] == {"allocation": an_allocation()}
    assert "labels" not in metadata_of(claim)


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("merge-patch+json", {"metadata": {"labels": {"a": "b"}}}),
        ("strategic-merge-patch+json", {"metadata": {"labels": {"a": "b"}}}),
        ("json-patch+json", [{"op": "add", "path": "/metadata/labels", "value": {"a": "b"}}]),
    ],
)
def test_each_kind_of_patch_is_applied(cluster: Cluster, kind: str, body: Json) -> None:
    ask(cluster, a_request("POST", CLAIMS, new_claim()))

    status, claim = patch(cluster, CLAIM, body, kind=kind)

    assert status == 200
    assert metadata_of(claim)["labels"] == {"a": "b"}


def test_patch_with_an_old_version_conflicts(cluster: Cluster) -> None:
    ask(cluster, a_request("POST", CLAIMS, new_claim()))

    status, _ = patch(
        cluster,
        CLAIM,
        {"metadata": {"resourceVersion": "1", "labels": {"a": "b"}}},
        kind="merge-patch+json",
    )

    assert status == 409


def test_server_side_apply_is_refused_with_the_way_out(cluster: Cluster) -> None:
    ask(cluster, a_request("POST", CLAIMS, new_claim()))

    status, refusal = patch(cluster, CLAIM, {}, kind="apply-patch+yaml")

    assert status == 415
    assert "client-side apply" in str(refusal["message"])


def test_delete_options_are_read_from_the_body(cluster: Cluster) -> None:
    _, claim = ask(cluster, a_request("POST", CLAIMS, new_claim()))
    options: JsonObject = {"preconditions": {"uid": "another"}}

    assert ask(cluster, a_request("DELETE", CLAIM, options))[0] == 409
    options = {"preconditions": {"uid": metadata_of(claim)["uid"]}, "dryRun": ["All"]}
    assert ask(cluster, a_request("DELETE", CLAIM, options))[0] == 200
    assert ask(cluster, a_request("GET", CLAIM))[0] == 200
    assert ask(cluster, a_request("DELETE", CLAIM, query={"gracePeriodSeconds": "0"}))[0] == 200
    assert ask(cluster, a_request("GET", CLAIM))[0] == 404


@pytest.mark.parametrize(
    ("policy", "finalizer"), [("Orphan", "orphan"), ("Foreground", "foregroundDeletion")]
)
def test_propagation_policy_becomes_a_finalizer(
    cluster: Cluster, policy: str, finalizer: str
) -> None:
    ask(cluster, a_request("POST", CLAIMS, new_claim()))

    _, held = ask(cluster, a_request("DELETE", CLAIM, {"propagationPolicy": policy}))

    assert metadata_of(held)["finalizers"] == [finalizer]


def test_collection_is_deleted_by_selector(cluster: Cluster) -> None:
    for name, node in (("a", "n1"), ("b", "n1"), ("c", "n2")):
        cluster.store.create(RESOURCE_SLICES, new_slice(name, node=node))
    query = {"fieldSelector": "spec.nodeName=n1"}

    _, deleted = ask(cluster, a_request("DELETE", RESOURCE_SLICES.path(), query=query))

    assert names(deleted) == ["a", "b"]
    assert len(cluster.store.list(RESOURCE_SLICES).items) == 1


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/apis/apps/v1/deployments", 404),
        ("GET", "/apis/resource.k8s.io/v1beta1/resourceclaims", 404),
        ("GET", "/nonsense", 404),
        ("POST", "/version", 405),
        ("POST", "/apis/resource.k8s.io/v1/resourceclaims", 405),
        ("PUT", "/apis/resource.k8s.io/v1/namespaces/lab/resourceclaims", 405),
        ("GET", "/apis/resource.k8s.io/v1/resourceclaims/gpu", 404),
        ("GET", "/api/v1/namespaces/lab/pods/x/log", 404),
        ("GET", "/apis/resource.k8s.io/v1/resourceclaims", 200),
        ("GET", "/api/v1/namespaces/lab", 200),
        ("GET", "/api/v1/namespaces/lab/status", 200),
        ("GET", "/api/v1/namespaces/lab/pods/", 200),
    ],
)
def test_path(cluster: Cluster, method: str, path: str, status: int) -> None:
    assert ask(cluster, a_request(method, path, {}))[0] == status
