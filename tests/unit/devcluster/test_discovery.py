from collections.abc import Iterator
from pathlib import Path

import pytest

from dra_console.allocator.decoding.reading import Fields
from dra_console.devcluster.cluster import Cluster
from dra_console.devcluster.http_dispatch import answer
from dra_console.devcluster.http_response import Response
from dra_console.devcluster.protobuf_wire import read_fields
from dra_console.devcluster.resources import GROUPS, RESOURCES
from tests.unit.devcluster.asking import a_cluster, a_request, ask

AGGREGATED = (
    (
        "accept",
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json",
    ),
)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    cluster = a_cluster(tmp_path)
    yield cluster
    cluster.store.close()


def test_each_kind_is_in_the_list_of_its_group(cluster: Cluster) -> None:
    found = set()
    for path in ("/api/v1", *(f"/apis/{group}/v1" for group in GROUPS)):
        _, listed = ask(cluster, a_request("GET", path))
        found |= {entry.text("name") for entry in Fields("", listed).children("resources")}

    assert {resource.kind.plural for resource in RESOURCES} <= found
    assert {
        "pods/binding",
        "pods/status",
        "resourceclaims/status",
        "serviceaccounts/token",
    } <= found


def test_aggregated_discovery_names_the_same_kinds(cluster: Cluster) -> None:
    found = set()
    for path in ("/api", "/apis"):
        _, listed = ask(cluster, a_request("GET", path, headers=AGGREGATED))
        assert listed["kind"] == "APIGroupDiscoveryList"
        for group in Fields("", listed).children("items"):
            (version,) = group.children("versions")
            found |= {entry.text("resource") for entry in version.children("resources")}

    assert found == {resource.kind.plural for resource in RESOURCES}


def test_older_clients_get_the_plain_lists(cluster: Cluster) -> None:
    assert ask(cluster, a_request("GET", "/api"))[1]["kind"] == "APIVersions"
    assert ask(cluster, a_request("GET", "/apis"))[1]["kind"] == "APIGroupList"


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz"])
def test_server_says_that_it_is_well(cluster: Cluster, path: str) -> None:
    response = answer(cluster, a_request("GET", path))

    assert isinstance(response, Response)
    assert response.body == b"ok"


def test_openapi_tells_that_patches_know_field_validation(cluster: Cluster) -> None:
    _, index = ask(cluster, a_request("GET", "/openapi/v3"))
    paths = index["paths"]
    assert isinstance(paths, dict)

    for entry in paths.values():
        assert isinstance(entry, dict)
        status, document = ask(cluster, a_request("GET", str(entry["serverRelativeURL"])))
        assert status == 200
        assert "fieldValidation" in str(document["paths"])


def test_openapi_v2_is_protobuf_for_those_who_ask_for_it(cluster: Cluster) -> None:
    accept = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"

    response = answer(cluster, a_request("GET", "/openapi/v2", headers=(("accept", accept),)))

    assert isinstance(response, Response)
    assert dict(read_fields(response.body))[1] == b"2.0"
    assert ask(cluster, a_request("GET", "/openapi/v2"))[1]["swagger"] == "2.0"
