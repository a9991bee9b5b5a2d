"""Two clusters behind one API, what is told of each, and what Prometheus is told."""

import re
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families

from dra_console.access.models import Scope
from dra_console.mirror.models import ApiServer, Cluster, Cursor, Pool
from dra_console.sync.mirrored import MIRRORED
from tests.builders.accounts import an_account
from tests.builders.fleets import a_fleet
from tests.builders.mirrored import mirror
from tests.builders.objects import a_claim, unborn
from tests.integration.api.conftest import client_of
from tests.integration.served_cluster import ServedCluster, served_cluster

PREFIX = "dra_console_"


@pytest.fixture(scope="module")
def _other_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedCluster]:
    with served_cluster(tmp_path_factory.mktemp("other")) as one:
        yield one


@pytest.fixture
def other(cluster: Cluster, _other_server: ServedCluster) -> Cluster:
    """A second cluster, where administrators alone have rights."""
    mirror(cluster, *a_fleet())
    _other_server.withdraw_everything()
    _other_server.grant("group:gpu-admins", "*")
    row = Cluster.objects.create(name="other", kubeconfig=str(_other_server.kubeconfig))
    mirror(row, a_claim("elsewhere", namespace="team-research"))
    return row


class TestChoice:
    @pytest.mark.usefixtures("other")
    @pytest.mark.parametrize("plural", ["resourceclaims", "devices", "pools", "nodes"])
    def test_none_is_guessed_where_there_are_several(self, as_admin: Client, plural: str) -> None:
        answer = as_admin.get(f"/api/v1/{plural}/")

        assert answer.status_code == HTTPStatus.BAD_REQUEST
        assert answer.json()["type"] == "urn:dra-console:problem:cluster-required"
        assert "other, served" in answer.json()["detail"]

    @pytest.mark.usefixtures("other")
    @pytest.mark.parametrize("name", ["served", "other"])
    def test_an_answer_says_which_one_it_is_about(self, as_admin: Client, name: str) -> None:
        answer = as_admin.get(f"/api/v1/pools/?cluster={name}")

        assert answer.headers["X-Mirror-Cluster"] == name

    def test_the_only_one_need_not_be_named(self, as_admin: Client, cluster: Cluster) -> None:
        mirror(cluster)

        assert as_admin.get("/api/v1/pools/").headers["X-Mirror-Cluster"] == "served"

    def test_one_that_is_disabled_is_not_there(self, as_admin: Client, other: Cluster) -> None:
        Cluster.objects.filter(pk=other.pk).update(enabled=False)

        answer = as_admin.get("/api/v1/pools/?cluster=other")

        assert answer.status_code == HTTPStatus.NOT_FOUND
        assert answer.json()["type"] == "urn:dra-console:problem:no-such-cluster"
        assert "cluster other is disabled" in answer.json()["detail"]
        assert as_admin.get("/api/v1/pools/").status_code == HTTPStatus.OK

    @pytest.mark.usefixtures("cluster")
    @pytest.mark.parametrize("name", ["nowhere", "a/b", "../x"])
    def test_one_that_is_unknown_is_not_there(self, as_admin: Client, name: str) -> None:
        answer = as_admin.get("/api/v1/pools/", {"cluster": name})

        assert answer.status_code == HTTPStatus.NOT_FOUND
        assert answer.json()["errors"][0]["parameter"] == "cluster"

    @pytest.mark.usefixtures("other")
    def test_rights_are_asked_of_each_for_itself(self, as_researcher: Client) -> None:
        here = as_researcher.get("/api/v1/resourceslices/?cluster=served")
        there = as_researcher.get("/api/v1/resourceslices/?cluster=other")
        claims = as_researcher.get("/api/v1/resourceclaims/?cluster=other")

        assert (here.status_code, there.status_code) == (HTTPStatus.OK, HTTPStatus.FORBIDDEN)
        assert claims.json()["items"] == []

    @pytest.mark.usefixtures("other")
    def test_what_was_created_is_found_where_the_answer_says(self, as_admin: Client) -> None:
        answer = as_admin.post(
            "/api/v1/resourceclaims/?cluster=served",
            unborn(a_claim("made", namespace="team-research")),
            content_type="application/json",
        )

        assert answer.status_code == HTTPStatus.CREATED
        assert answer.headers["Location"] == (
            "/api/v1/resourceclaims/team-research/made/?cluster=served"
        )


class TestClusters:
    def test_each_tells_its_server_and_its_kinds(self, as_admin: Client, other: Cluster) -> None:
        ApiServer.objects.create(
            cluster=other,
            asked_at="2026-11-30T12:00:00Z",
            answered_at="2026-11-30T12:00:00Z",
            version="v1.37.2",
            resource_versions=["v1", "v1beta2"],
            username="console",
        )

        served, told = (
            as_admin.get(f"/api/v1/clusters/{name}/").json() for name in ("served", "other")
        )

        assert (told["reachable"], told["version"]) == (True, "v1.37.2")
        assert told["resourceVersions"] == ["v1", "v1beta2"]
        assert [kind["plural"] for kind in told["kinds"]] == list(MIRRORED)
        assert {kind["plural"]: kind["objects"] for kind in told["kinds"]}["resourceclaims"] == 1
        assert (served["reachable"], served["resourceVersions"]) == (None, None)

    def test_a_forbidden_kind_comes_with_advice(self, as_admin: Client, cluster: Cluster) -> None:
        mirror(cluster)
        Cursor.objects.filter(plural="nodes").update(
            served=False, error="User console cannot list nodes", error_status=403
        )

        [told] = as_admin.get("/api/v1/clusters/").json()["items"]

        [nodes] = [kind for kind in told["kinds"] if kind["plural"] == "nodes"]
        assert (nodes["state"], nodes["served"]) == ("forbidden", False)
        assert nodes["error"] == "User console cannot list nodes"
        assert told["advice"][0]["headline"] == "Grant list and watch on nodes"

    def test_errors_and_advice_need_the_right_to_list_nodes_there(
        self, as_nobody: Client, cluster: Cluster
    ) -> None:
        mirror(cluster)
        Cursor.objects.filter(plural="nodes").update(error="10.0.0.1: no route")

        [told] = as_nobody.get("/api/v1/clusters/").json()["items"]

        assert {kind["plural"]: kind["state"] for kind in told["kinds"]}["nodes"] == "failing"
        assert {kind["error"] for kind in told["kinds"]} == {None}
        assert (told["advice"], told["username"], told["serverError"]) == (None, None, None)
        assert "10.0.0.1" not in str(told)


def measured(client: Client) -> dict[str, dict[tuple[str, ...], float]]:
    """Scrape, and return values by name and label values in the order of their names."""
    answer = client.get("/metrics")
    assert answer.status_code == HTTPStatus.OK
    assert answer.headers["Content-Type"].startswith("text/plain; version=")
    values: dict[str, dict[tuple[str, ...], float]] = {}
    for family in text_string_to_metric_families(answer.content.decode()):
        assert family.documentation, family.name
        assert family.name.startswith(PREFIX)
        assert family.type in {"gauge", "counter"}
        for sample in family.samples:
            labels = tuple(sample.labels[name] for name in sorted(sample.labels))
            values.setdefault(sample.name.removeprefix(PREFIX), {})[labels] = sample.value
    return values


class TestMetrics:
    @pytest.mark.parametrize("method", ["get", "head", "post", "options"])
    def test_strangers_get_none(self, db: None, method: str) -> None:
        del db
        answer = getattr(Client(), method)("/metrics")

        assert answer.status_code == HTTPStatus.UNAUTHORIZED
        assert answer.headers["WWW-Authenticate"].startswith("Bearer")

    def test_a_token_that_may_read_is_enough(self, cluster: Cluster, admin: User) -> None:
        mirror(cluster)

        assert measured(client_of(admin, scope=Scope.READ))["build_info"]

    def test_each_cluster_and_kind_is_measured(self, other: Cluster) -> None:
        Cursor.objects.filter(cluster=other, plural="pods").update(relists=3, failures=2)
        Cursor.objects.filter(cluster=other, plural="nodes").update(
            served=False, error="no", error_status=403
        )

        values = measured(client_of(an_account("prometheus"), scope=Scope.READ))

        assert values["cluster_enabled"] == {("other",): 1, ("served",): 1}
        assert set(values["mirror_lag_seconds"]) == {
            (cluster, plural) for cluster in ("other", "served") for plural in MIRRORED
        }
        assert 0 <= values["mirror_lag_seconds"]["other", "pods"] < 60
        assert values["mirror_relists_total"]["other", "pods"] == 3
        assert values["mirror_failures_total"]["other", "pods"] == 2
        assert values["mirror_objects"]["other", "resourceclaims"] == 1
        assert values["mirror_state"]["other", "nodes", "forbidden"] == 1
        assert values["mirror_state"]["other", "nodes", "following"] == 0
        assert values["claims"]["other", "pending"] == 1
        assert values["pools"] == {("other",): 0, ("served",): 2}
        assert values["sync_windows_held"] == {("other",): 0, ("served",): 0}

    @pytest.mark.usefixtures("other")
    def test_each_is_in_the_guide(self, admin: User) -> None:
        guide = (Path(__file__).parents[3] / "docs" / "operating.md").read_text(encoding="utf-8")
        documented = {
            name
            for row in re.findall(r"^\| (`[a-z_`, ]+`) \|", guide, flags=re.MULTILINE)
            for name in re.findall(r"`([a-z_]+)`", row)
        }

        answer = client_of(admin).get("/metrics").content.decode()

        told = set(re.findall(rf"^# HELP {PREFIX}(\w+) ", answer, flags=re.MULTILINE))
        assert len(told) > 10
        assert told - documented == set()

    def test_what_is_not_known_is_absent(self, admin: User, cluster: Cluster) -> None:
        Cursor.objects.create(cluster=cluster, plural="pods")

        values = measured(client_of(admin))

        for name in (
            "mirror_lag_seconds",
            "mirror_objects",
            "cluster_reachable",
            "pools",
            "claims",
        ):
            assert name not in values
        assert ("served", "pods") in values["mirror_relists_total"]

    def test_an_unreachable_server_and_an_incomplete_pool_are_measured(
        self, admin: User, cluster: Cluster
    ) -> None:
        mirror(cluster, *a_fleet())
        cluster_pools = measured(client_of(admin))["pools_incomplete"]
        Pool.objects.filter(node_name="gpu-01").update(slices_expected=9)
        ApiServer.objects.create(cluster=cluster, asked_at="2026-11-30T12:00:00Z", error="no route")

        values = measured(client_of(admin))

        assert cluster_pools == {("served",): 0}
        assert values["pools_incomplete"] == {("served",): 1}
        assert values["cluster_reachable"] == {("served",): 0}
        assert "cluster_last_answer_age_seconds" not in values

    def test_a_disabled_cluster_is_not_said_to_lag(self, admin: User, other: Cluster) -> None:
        Cluster.objects.filter(pk=other.pk).update(enabled=False)

        values = measured(client_of(admin))

        assert values["cluster_enabled"]["other",] == 0
        assert not [labels for labels in values["mirror_lag_seconds"] if labels[0] == "other"]

    def test_open_metrics_is_spoken_to_who_prefers_it(self, admin: User, cluster: Cluster) -> None:
        mirror(cluster)
        accept = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"

        answer = client_of(admin).get("/metrics", headers={"Accept": accept})

        assert answer.headers["Content-Type"].startswith("application/openmetrics-text")
        assert answer.content.endswith(b"# EOF\n")
