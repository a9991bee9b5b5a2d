"""What each list holds, for whom, in how many queries."""

from http import HTTPStatus

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from dra_console.access.models import Scope
from dra_console.mirror.models import Cluster, Cursor, ResourceClaim
from dra_console.telemetry.readings import STALE_AFTER_SECONDS
from tests.builders.fleets import a_fleet
from tests.builders.mirrored import mirror
from tests.builders.objects import a_claim
from tests.integration.api.conftest import client_of
from tests.settings import TEST_DATABASE

MIRRORED = [
    "deviceclasses",
    "nodes",
    "resourceclaims",
    "resourceclaimtemplates",
    "resourceslices",
]
LISTS = [*MIRRORED, "clusters", "devices", "pools"]


@pytest.fixture(autouse=True)
def _mirrored_fleet(cluster: Cluster) -> None:
    mirror(cluster, *a_fleet())


def names_in(client: Client, address: str) -> list[str]:
    answer = client.get(address)
    assert answer.status_code == HTTPStatus.OK, answer.content
    return [one["metadata"]["name"] for one in answer.json()["items"]]


@pytest.mark.parametrize("plural", MIRRORED)
def test_objects_are_spelled_as_kubernetes_spells_them(as_admin: Client, plural: str) -> None:
    answer = as_admin.get(f"/api/v1/{plural}/").json()

    assert answer["apiVersion"] == ("v1" if plural == "nodes" else "resource.k8s.io/v1")
    assert answer["kind"].endswith("List")
    assert answer["metadata"]["resourceVersion"] == "100"
    fleet = a_fleet()
    for one in answer["items"]:
        assert one in fleet
    assert len(answer["items"]) >= 2


@pytest.mark.parametrize("plural", LISTS)
def test_a_trailing_slash_may_be_left_out(as_admin: Client, plural: str) -> None:
    with_slash = as_admin.get(f"/api/v1/{plural}/")
    without = as_admin.get(f"/api/v1/{plural}")

    assert with_slash.status_code == without.status_code == HTTPStatus.OK
    assert len(without.json()["items"]) == len(with_slash.json()["items"])


def test_a_foreign_namespace_is_in_no_list_search_or_filter(as_researcher: Client) -> None:
    everything = b"".join(
        as_researcher.get(f"/api/v1/{plural}/{query}").content
        for plural in LISTS
        for query in ("", "?limit=1", "?limit=500")
    )

    assert b"team-research" in everything
    for foreign in (b"team-vision", b"secret", b"concealed", b"private"):
        assert foreign not in everything
    assert names_in(as_researcher, "/api/v1/resourceclaims/?namespace=team-vision") == []
    assert names_in(as_researcher, "/api/v1/resourceclaims/?q=concealed") == []
    assert (
        names_in(as_researcher, "/api/v1/resourceclaims/?fieldSelector=metadata.name=concealed")
        == []
    )
    held = as_researcher.get("/api/v1/devices/?namespace=team-vision").json()
    assert held["items"] == []


def test_what_is_left_of_a_list_does_not_count_what_is_hidden(as_researcher: Client) -> None:
    page = as_researcher.get("/api/v1/resourceclaims/?limit=1").json()

    assert page["metadata"]["remainingItemCount"] == 1


def test_a_cluster_scoped_list_without_the_right_is_forbidden_not_empty(
    as_nobody: Client,
) -> None:
    for plural in ("nodes", "resourceslices", "deviceclasses", "devices"):
        answer = as_nobody.get(f"/api/v1/{plural}/")
        assert answer.status_code == HTTPStatus.FORBIDDEN
        assert answer.json()["type"] == "urn:dra-console:problem:forbidden"


def test_everybody_reads_counts_of_pools(as_nobody: Client) -> None:
    [first, second] = as_nobody.get("/api/v1/pools/").json()["items"]

    assert first["numbers"] == {
        "total": 2,
        "free": 0,
        "allocated": 2,
        "tainted": 0,
        "unavailable": 0,
    }
    assert second["numbers"]["free"] == 2
    assert not first["isLowerBound"]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("state=pending", ["waits", "concealed"]),
        ("state=allocated", ["held", "secret"]),
        ("namespace=team-vision", ["concealed", "secret"]),
        ("class=gpu.nvidia.com&namespace=team-research", ["held", "waits"]),
        ("class=gpu", []),
        ("node=gpu-01", ["held", "secret"]),
        ("q=CEAL", ["concealed"]),
        ("fieldSelector=metadata.namespace!=team-vision", ["held", "waits"]),
    ],
)
def test_filters_of_claims(as_admin: Client, query: str, names: list[str]) -> None:
    assert sorted(names_in(as_admin, f"/api/v1/resourceclaims/?{query}")) == sorted(names)


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("node=gpu-01", ["gpu-01/gpu-0", "gpu-01/gpu-1"]),
        ("state=held", ["gpu-01/gpu-0", "gpu-01/gpu-1"]),
        ("state=free&q=gpu-1", ["gpu-02/gpu-1"]),
        ("model=NVIDIA+H100&pool=gpu-02", ["gpu-02/gpu-0", "gpu-02/gpu-1"]),
        ("namespace=team-research", ["gpu-01/gpu-0"]),
        ("driver=other", []),
    ],
)
def test_filters_of_devices(as_admin: Client, query: str, names: list[str]) -> None:
    items = as_admin.get(f"/api/v1/devices/?{query}").json()["items"]

    assert [f"{one['pool']}/{one['device']}" for one in items] == names


@pytest.mark.parametrize(
    ("address", "names"),
    [
        ("/api/v1/nodes/?labelSelector=zone%3Da", ["gpu-01"]),
        ("/api/v1/nodes/?q=02", ["gpu-02"]),
        ("/api/v1/nodes/?state=ready", []),
        ("/api/v1/nodes/?state=not-ready", ["gpu-01", "gpu-02"]),
        ("/api/v1/resourceslices/?node=gpu-01", ["gpu-01-gpu.nvidia.com"]),
        ("/api/v1/resourceslices/?fieldSelector=spec.nodeName=gpu-02", ["gpu-02-gpu.nvidia.com"]),
        ("/api/v1/deviceclasses/?q=l4", ["l4.nvidia.com"]),
        ("/api/v1/resourceclaimtemplates/?namespace=team-vision", ["private"]),
    ],
)
def test_filters_of_other_kinds(as_admin: Client, address: str, names: list[str]) -> None:
    assert names_in(as_admin, address) == names


def test_a_device_shows_state_holder_and_reading_or_null(as_researcher: Client) -> None:
    mine, foreign, free, _ = as_researcher.get("/api/v1/devices/").json()["items"]

    assert mine["state"] == foreign["state"] == "held"
    assert [holder["name"] for holder in mine["holders"]] == ["held"]
    assert foreign["holders"] == []
    assert foreign["hiddenHolders"] == 1
    assert free["state"] == "free"
    assert free["reading"] is None
    assert free["model"] == "NVIDIA H100"
    assert free["memoryBytes"] == 80 * 2**30


@pytest.mark.parametrize("plural", LISTS)
def test_pages_of_one_together_are_the_list(as_admin: Client, plural: str) -> None:
    whole = as_admin.get(f"/api/v1/{plural}/").json()["items"]
    paged: list[object] = []
    query = "limit=1"

    while True:
        page = as_admin.get(f"/api/v1/{plural}/?{query}").json()
        paged += page["items"]
        if "continue" not in page["metadata"]:
            break
        query = f"limit=1&continue={page['metadata']['continue']}"

    def stable(items: list[object]) -> str:
        return str(items) if plural in MIRRORED else str(len(items))

    assert stable(paged) == stable(whole)


def test_a_page_holds_at_most_500_whatever_is_asked_for(as_admin: Client, cluster: Cluster) -> None:
    mirror(cluster, *(a_claim(f"c-{number}") for number in range(501)))

    page = as_admin.get("/api/v1/resourceclaims/?limit=100000").json()

    assert len(page["items"]) == 500
    assert page["metadata"]["remainingItemCount"] == ResourceClaim.objects.count() - 500


def test_a_cursor_of_another_list_filter_or_reader_is_gone(
    as_admin: Client, as_researcher: Client
) -> None:
    address = "/api/v1/resourceclaims/?limit=1"
    cursor = as_admin.get(address).json()["metadata"]["continue"]

    for client, other in (
        (as_admin, f"/api/v1/nodes/?continue={cursor}"),
        (as_admin, f"{address}&state=pending&continue={cursor}"),
        (as_researcher, f"{address}&continue={cursor}"),
        (as_admin, f"{address}&continue={cursor}x"),
    ):
        answer = client.get(other)
        assert answer.status_code == HTTPStatus.GONE
        assert answer.json()["type"] == "urn:dra-console:problem:expired-continue"


@pytest.mark.parametrize(
    ("query", "kind", "parameter"),
    [
        ("colour=red", "unknown-parameter", "colour"),
        ("raw__name=x", "unknown-parameter", "raw__name"),
        ("limit=0", "invalid-parameter", "limit"),
        ("limit=many", "invalid-parameter", "limit"),
        ("state=lost", "invalid-parameter", "state"),
        ("state=pending&state=allocated", "invalid-parameter", "state"),
        ("labelSelector=a+b", "invalid-parameter", "labelSelector"),
        ("fieldSelector=spec.x=1", "invalid-parameter", "fieldSelector"),
        ("q=%00", "invalid-parameter", "q"),
    ],
)
def test_a_bad_parameter_is_named(as_admin: Client, query: str, kind: str, parameter: str) -> None:
    answer = as_admin.get(f"/api/v1/resourceclaims/?{query}")

    assert answer.status_code == HTTPStatus.BAD_REQUEST
    assert answer.headers["Content-Type"] == "application/problem+json"
    problem = answer.json()
    assert problem["type"] == f"urn:dra-console:problem:{kind}"
    assert [error["parameter"] for error in problem["errors"]] == [parameter]


def test_answers_say_how_old_they_are(as_admin: Client) -> None:
    answer = as_admin.get("/api/v1/nodes/")

    assert answer.headers["X-Mirror-ResourceVersion"] == "100"
    assert 0 <= int(answer.headers["Age"]) < STALE_AFTER_SECONDS
    assert "Warning" not in answer.headers


def test_an_old_mirror_warns(as_admin: Client) -> None:
    Cursor.objects.filter(plural="nodes").update(last_contact_at="2026-11-29T20:00:00Z")

    answer = as_admin.get("/api/v1/nodes/")

    assert answer.headers["Warning"] == '110 dra-console "Response is Stale"'


def test_what_was_never_read_is_not_an_empty_list(as_admin: Client) -> None:
    Cursor.objects.filter(plural="nodes").update(listed_at=None, error="no right", error_status=403)

    answer = as_admin.get("/api/v1/nodes/")

    assert answer.status_code == HTTPStatus.SERVICE_UNAVAILABLE
    assert answer.json()["detail"].endswith("have not been read yet (forbidden to the console).")
    assert int(answer.headers["Retry-After"]) > 0


def test_clusters_tell_lag_and_error_of_each_kind(as_researcher: Client) -> None:
    Cursor.objects.filter(plural="pods").update(last_contact_at=None, error="no route")

    [cluster] = as_researcher.get("/api/v1/clusters/").json()["items"]

    kinds = {kind["plural"]: kind for kind in cluster["kinds"]}
    assert cluster["name"] == "served"
    assert kinds["nodes"]["lagSeconds"] < STALE_AFTER_SECONDS
    assert kinds["pods"]["lagSeconds"] is None
    assert kinds["pods"]["error"] == "no route"
    assert kinds["pods"]["state"] == "failing"


TOKEN, CLUSTER, CURSOR, COUNT, ROWS = 1, 1, 1, 1, 1
NAMESPACES = 1
SERVER, OBJECTS = 1, 9
CLOCK = int(TEST_DATABASE == "postgresql")
"""SQLite's time is this machine's."""

DEVICES, POOLS = 5, 2
"""What pools publish is kept; two more are asked where a slice has changed."""


@pytest.mark.parametrize(
    ("plural", "queries"),
    [
        *((plural, TOKEN + CLUSTER + CURSOR + COUNT + ROWS) for plural in MIRRORED),
        ("devices", TOKEN + CLUSTER + CURSOR + DEVICES),
        ("pools", TOKEN + CLUSTER + CURSOR + DEVICES + POOLS),
        ("clusters", TOKEN + CLOCK + ROWS + CURSOR + SERVER + OBJECTS),
    ],
)
def test_a_list_takes_a_fixed_number_of_queries(
    as_admin: Client,
    cluster: Cluster,
    plural: str,
    queries: int,
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    as_admin.get(f"/api/v1/{plural}/")

    with django_assert_num_queries(queries):
        as_admin.get(f"/api/v1/{plural}/")
    mirror(cluster, *(a_claim(f"c-{number}") for number in range(50)))
    with django_assert_num_queries(queries):
        as_admin.get(f"/api/v1/{plural}/")


def test_who_sees_some_namespaces_costs_one_more_query(
    as_researcher: Client, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    as_researcher.get("/api/v1/resourceclaims/")

    with django_assert_num_queries(TOKEN + CLUSTER + CURSOR + NAMESPACES + COUNT + ROWS):
        as_researcher.get("/api/v1/resourceclaims/")


def test_another_cluster_is_asked_for_by_name(as_admin: Client, cluster: Cluster) -> None:
    other = Cluster.objects.create(name="zone-b", kubeconfig=cluster.kubeconfig)
    mirror(other, a_claim("elsewhere"))

    assert names_in(as_admin, "/api/v1/resourceclaims/?cluster=zone-b") == ["elsewhere"]
    assert "elsewhere" not in names_in(as_admin, "/api/v1/resourceclaims/?cluster=served")


def test_a_read_token_reads(admin: User) -> None:
    assert names_in(client_of(admin, scope=Scope.READ), "/api/v1/nodes/") == ["gpu-01", "gpu-02"]
