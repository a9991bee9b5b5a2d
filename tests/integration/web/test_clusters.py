"""Two clusters in one console: which one a page is about, and how well each is followed."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from dra_console.access.models import AuditEntry
from dra_console.mirror.models import ApiServer, Cluster, Cursor
from tests.builders.mirrored import mirror
from tests.builders.objects import a_claim, a_namespace
from tests.integration.served_cluster import ServedCluster, served_cluster
from tests.integration.web.conftest import logged_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def west_served(tmp_path: Path) -> Iterator[ServedCluster]:
    """A second API server, where the researchers of the first one have no right at all."""
    directory = tmp_path / "west"
    directory.mkdir()
    with served_cluster(directory) as one:
        one.grant("group:gpu-admins", "*")
        yield one


@pytest.fixture
def east(cluster: Cluster) -> Cluster:
    cluster.name = "east"
    cluster.save()
    return cluster


@pytest.fixture
def west(east: Cluster, west_served: ServedCluster) -> Cluster:
    """Its only claim is `western` in `team-research`."""
    del east
    row = Cluster.objects.create(name="west", kubeconfig=str(west_served.kubeconfig))
    mirror(row, a_namespace("team-research"), a_claim("western", namespace="team-research"))
    return row


@pytest.mark.usefixtures("east")
class TestWithOneCluster:
    def test_pages_have_plain_addresses_and_nothing_to_choose(self, as_admin: Client) -> None:
        answer = as_admin.get("/claims/")

        text = answer.content.decode()
        assert answer.headers["X-Mirror-Cluster"] == "east"
        assert "/in/" not in text
        assert 'class="menu top-choice"' not in text
        assert 'href="/clusters/east/"' in text

    def test_it_may_be_named_all_the_same(self, as_admin: Client) -> None:
        for address in ("/in/east/claims/", "/claims/?cluster=east"):
            assert as_admin.get(address).headers["X-Mirror-Cluster"] == "east"


@pytest.mark.usefixtures("west")
class TestWithSeveralClusters:
    @pytest.mark.parametrize("address", ["/in/west/claims/", "/claims/?cluster=west"])
    def test_a_page_is_about_the_named_one_and_so_is_every_link_on_it(
        self, as_admin: Client, address: str
    ) -> None:
        answer = as_admin.get(address)

        text = answer.content.decode()
        assert answer.headers["X-Mirror-Cluster"] == "west"
        assert "western" in text
        assert 'href="/in/west/claims/team-research/western/"' in text
        assert 'href="/claims/' not in text
        assert 'action="/in/west/search/"' in text
        assert f'hx-get="{address}"' in text

    def test_the_top_bar_leads_to_the_same_page_of_each(self, as_admin: Client) -> None:
        text = as_admin.get("/in/west/claims/team-research/western/").content.decode()

        assert '<span class="clip">west</span>' in text
        assert 'href="/in/east/claims/"' in text
        assert 'href="/in/west/claims/"' in text

    def test_the_top_bar_tells_of_trouble_in_the_others(
        self, as_admin: Client, west: Cluster
    ) -> None:
        Cursor.objects.filter(cluster=west, plural="pods").update(error="no route")

        text = as_admin.get("/in/east/nodes/").content.decode()

        assert "1 not followed" in text
        assert '1<span class="visually-hidden"> kinds not followed</span>' in text

    def test_an_address_that_names_none_leads_to_the_one_seen_last(self, as_admin: Client) -> None:
        first = as_admin.get("/claims/?state=pending")
        as_admin.get("/in/west/nodes/")
        then = as_admin.get("/claims/?state=pending")

        assert first.headers["Location"] == "/in/east/claims/?state=pending"
        assert then.headers["Location"] == "/in/west/claims/?state=pending"

    def test_what_was_seen_last_is_kept_for_each_session(self, as_admin: Client) -> None:
        as_admin.get("/in/west/claims/")

        assert logged_in("another", "gpu-admins").get("/").headers["Location"] == "/in/east/"

    def test_an_odd_path_is_led_on_as_it_is(self, as_admin: Client) -> None:
        answer = as_admin.get("/nodes/a%3Fb%20%C3%BC/")

        assert answer.headers["Location"] == "/in/east/nodes/a%3Fb%20%C3%BC/"

    def test_a_form_that_names_none_changes_nothing(self, as_admin: Client) -> None:
        answer = as_admin.post("/claims/team-research/western/delete/")

        assert answer.status_code == 400
        assert "does not say which of the clusters" in answer.content.decode()
        assert not AuditEntry.objects.exists()

    def test_a_form_of_a_page_acts_on_that_page_s_cluster(self, as_admin: Client) -> None:
        as_admin.get("/in/east/claims/")

        answer = as_admin.post("/in/west/claims/team-research/western/delete/")

        assert answer.headers["Location"] == "/in/west/claims/team-research/western/"
        assert AuditEntry.objects.get().cluster_name == "west"

    def test_a_page_opened_before_there_were_several_loads_itself_anew(
        self, as_admin: Client
    ) -> None:
        answer = as_admin.get("/claims/", headers={"HX-Request": "true"})

        assert answer.headers["HX-Refresh"] == "true"
        assert answer.content == b""

    @pytest.mark.parametrize(
        "address",
        ["/in/nowhere/claims/", "/claims/?cluster=nowhere", "/claims/?cluster=%00", "/in/a%00/x/"],
    )
    def test_an_unknown_one_is_said_to_be_unknown(self, as_admin: Client, address: str) -> None:
        answer = as_admin.get(address)

        assert answer.status_code == 404
        assert "X-Mirror-Cluster" not in answer.headers

    def test_an_unknown_one_is_named(self, as_admin: Client) -> None:
        text = as_admin.get("/claims/?cluster=nowhere").content.decode()

        assert "No cluster is called &#x27;nowhere&#x27;" in text

    def test_a_disabled_one_is_said_to_be_disabled(self, as_admin: Client, west: Cluster) -> None:
        Cluster.objects.filter(pk=west.pk).update(enabled=False)

        answer = as_admin.get("/in/west/claims/")

        assert answer.status_code == 404
        assert "Cluster west is disabled" in answer.content.decode()

    def test_rights_in_one_are_no_rights_in_the_other(self, as_researcher: Client) -> None:
        east = as_researcher.get("/in/east/nodes/")
        west = as_researcher.get("/in/west/nodes/")
        claim = as_researcher.get("/in/west/claims/team-research/western/")

        assert (east.status_code, west.status_code, claim.status_code) == (200, 403, 404)
        assert "western" not in as_researcher.get("/in/west/claims/").content.decode()

    def test_an_export_carries_its_cluster_s_name(self, as_admin: Client) -> None:
        answer = as_admin.get("/in/west/claims.csv")

        assert 'filename="claims-west.csv"' in answer.headers["Content-Disposition"]

    @pytest.mark.parametrize("address", ["/in/east/api/v1/pools/", "/in/east/metrics"])
    def test_programs_addresses_are_not_below_a_cluster(
        self, as_admin: Client, address: str
    ) -> None:
        assert as_admin.get(address).status_code == 404

    def test_strangers_learn_no_names(self) -> None:
        answers = [Client().get(f"/in/{name}/claims/") for name in ("east", "nowhere")]

        assert [answer.headers["Location"] for answer in answers] == [
            "/login/?next=/in/east/claims/",
            "/login/?next=/in/nowhere/claims/",
        ]


class TestClustersPages:
    def test_an_empty_console_says_which_command_begins(self, as_admin: Client) -> None:
        text = as_admin.get("/clusters/").content.decode()

        assert "manage.py cluster add NAME --kubeconfig FILE" in text

    @pytest.mark.usefixtures("west")
    def test_all_are_listed_with_state_and_version(self, as_admin: Client, east: Cluster) -> None:
        Cursor.objects.filter(cluster=east, plural="pods").update(
            served=False, error="pods is forbidden", error_status=403
        )
        ApiServer.objects.create(
            cluster=east,
            asked_at=timezone.now(),
            answered_at=timezone.now(),
            version="v1.37.2",
            resource_versions=["v1", "v1beta2"],
        )

        text = as_admin.get("/clusters/").content.decode()

        assert "1 kind not followed" in text
        assert "v1.37.2" in text
        assert "also serves v1beta2" in text
        assert "not asked yet" in text

    def test_a_kind_that_is_forbidden_is_told_with_what_to_grant(
        self, as_admin: Client, east: Cluster
    ) -> None:
        Cursor.objects.filter(cluster=east, plural="devicetaintrules").update(
            served=False, error="User console cannot list devicetaintrules", error_status=403
        )

        text = as_admin.get("/clusters/east/").content.decode()

        assert "forbidden to us" in text
        assert "User console cannot list devicetaintrules" in text
        assert "Grant list and watch on devicetaintrules" in text
        assert "kind: ClusterRole" in text

    def test_errors_are_hidden_from_who_may_not_list_nodes_there(
        self, as_nobody: Client, east: Cluster
    ) -> None:
        Cursor.objects.filter(cluster=east, plural="pods").update(error="10.0.0.1: no route")

        text = as_nobody.get("/clusters/east/").content.decode()

        assert "failing" in text
        assert "10.0.0.1" not in text
        assert east.kubeconfig not in text

    def test_an_operator_sees_errors_of_a_cluster_that_cannot_be_asked(self, east: Cluster) -> None:
        Cluster.objects.filter(pk=east.pk).update(kubeconfig="/nowhere/kubeconfig")
        Cursor.objects.filter(cluster=east).update(error="10.0.0.1: no route")
        texts = {}
        for name in ("operator", "admin"):
            client = logged_in(name, "gpu-admins")
            User.objects.filter(username="operator").update(is_staff=True)
            texts[name] = client.get("/clusters/east/").content.decode()

        assert "10.0.0.1: no route" in texts["operator"]
        assert "10.0.0.1: no route" not in texts["admin"]

    def test_an_api_server_that_is_away_is_not_asked_for_rights(
        self, east: Cluster, served: ServedCluster, as_admin: Client
    ) -> None:
        ApiServer.objects.create(cluster=east, asked_at=timezone.now(), error="10.0.0.1: away")
        Cursor.objects.filter(cluster=east).update(error="10.0.0.1: away")

        text = as_admin.get("/clusters/east/", headers={"HX-Request": "true"}).content.decode()

        assert "does not answer" in text
        assert "10.0.0.1" not in text
        assert served.times_asked("admin") == 0

    def test_whoever_looks_at_a_cluster_goes_on_in_it(
        self, as_admin: Client, west: Cluster
    ) -> None:
        text = as_admin.get(f"/clusters/{west.name}/").content.decode()

        assert 'href="/in/west/devices/"' in text

    def test_overview_and_rail_tell_of_a_kind_that_is_not_followed(
        self, as_admin: Client, east: Cluster
    ) -> None:
        Cursor.objects.filter(cluster=east, plural="pods").update(error="no route")

        text = as_admin.get("/").content.decode()

        assert "pods of east: failing" in text
        assert "pods not followed" in text
        assert text.count('href="/clusters/east/"') >= 2

    @pytest.mark.parametrize("name", ["nowhere", "%00", "a%20b"])
    def test_an_unknown_cluster_has_no_page(self, as_admin: Client, name: str) -> None:
        assert as_admin.get(f"/clusters/{name}/").status_code == 404

    def test_htmx_gets_the_part_that_changes(self, as_admin: Client, east: Cluster) -> None:
        for address in ("/clusters/", f"/clusters/{east.name}/"):
            part = as_admin.get(address, headers={"HX-Request": "true"}).content.decode()

            assert "data-refresh-steadily" in part
            assert "<html" not in part
