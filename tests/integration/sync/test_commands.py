import re
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from dra_console.kube.client import Client
from dra_console.kube.kinds import RESOURCE_CLAIMS, RESOURCE_SLICES
from dra_console.mirror.clusters import client_of, only_cluster
from dra_console.mirror.models import (
    Cluster,
    Cursor,
    Device,
    DeviceAssignment,
    Namespace,
    ResourceClaim,
)
from dra_console.sync.mirrored import MIRRORED
from tests.integration.devclusters import Devcluster
from tests.integration.served_cluster import served_cluster
from tests.integration.sync.conftest import NAMESPACE
from tests.integration.sync.test_workers import a_published_slice
from tests.integration.sync.windows import a_new_claim

pytestmark = pytest.mark.django_db(transaction=True)


def manage(*arguments: str) -> str:
    said = StringIO()
    call_command(*arguments, stdout=said, stderr=said)
    return said.getvalue()


class TestCluster:
    def test_is_added_listed_and_removed(self, server: Devcluster) -> None:
        manage("cluster", "add", "lab", "--kubeconfig", str(server.kubeconfig))
        assert str(server.kubeconfig) in manage("cluster", "list")
        assert only_cluster().name == "lab"

        manage("cluster", "remove", "lab")
        assert not Cluster.objects.exists()

    def test_can_be_moved_by_adding_it_again(self, server: Devcluster, tmp_path: Path) -> None:
        manage("cluster", "add", "lab", "--kubeconfig", str(server.kubeconfig))
        moved = tmp_path / "moved"
        moved.write_text(server.kubeconfig.read_text())

        manage("cluster", "add", "lab", "--kubeconfig", str(moved))

        assert Cluster.objects.get().kubeconfig == str(moved)

    def test_is_added_with_words_on_who_we_are_there_and_what_we_may_read(
        self, server: Devcluster
    ) -> None:
        said = manage("cluster", "add", "lab", "--kubeconfig", str(server.kubeconfig))

        assert "we are system:admin there" in said
        assert "resource.k8s.io: v1" in said
        assert "readable: namespaces, nodes" in said
        assert "not readable" not in said

    def test_is_added_with_the_role_to_grant_where_something_is_not_readable(
        self, tmp_path: Path
    ) -> None:
        with served_cluster(tmp_path) as served:
            username = f"system:serviceaccount:{NAMESPACE}:console"
            served.grant(username, "namespaces", "pods")
            served.become_service_account(NAMESPACE, "console")

            said = manage("cluster", "add", "lab", "--kubeconfig", str(served.kubeconfig))

        assert f"we are {username} there" in said
        assert "  readable: namespaces, pods\n" in said
        assert "nodes (no list and no watch)" in said
        assert "kind: ClusterRole" in said

    def test_is_not_mirrored_under_two_names(self, server: Devcluster, tmp_path: Path) -> None:
        manage("cluster", "add", "lab", "--kubeconfig", str(server.kubeconfig))
        copy = tmp_path / "copy"
        copy.write_text(server.kubeconfig.read_text())

        with pytest.raises(CommandError, match="this is cluster lab"):
            manage("cluster", "add", "again", "--kubeconfig", str(copy))

    def test_that_does_not_answer_is_added_unchecked_only(self, server: Devcluster) -> None:
        place = ("--kubeconfig", str(server.kubeconfig))
        server.kill()

        with pytest.raises(CommandError, match=str(server.kubeconfig)):
            manage("cluster", "add", "lab", *place)
        assert not Cluster.objects.exists()

        assert "not checked" in manage("cluster", "add", "lab", *place, "--unchecked")
        assert Cluster.objects.get().name == "lab"

    def test_is_refused_with_a_context_that_the_file_does_not_have(
        self, server: Devcluster
    ) -> None:
        place = ("--kubeconfig", str(server.kubeconfig), "--context", "elsewhere")

        with pytest.raises(CommandError, match=f"{server.kubeconfig}, context elsewhere"):
            manage("cluster", "add", "lab", *place)

    def test_is_disabled_and_enabled_without_losing_what_was_mirrored(
        self, cluster: Cluster
    ) -> None:
        manage("sync_once")
        before = Namespace.objects.count()

        manage("cluster", "disable", "lab")
        assert "lab  disabled" in manage("cluster", "list")
        with pytest.raises(CommandError, match="no cluster is enabled"):
            manage("sync_once")

        manage("cluster", "enable", "lab")
        assert only_cluster() == cluster
        assert Namespace.objects.count() == before > 0

    def test_list_says_how_each_kind_is_followed_and_what_to_do(self, cluster: Cluster) -> None:
        manage("sync_once")
        Cursor.objects.filter(plural="pods").update(
            error="pods is forbidden", error_status=403, served=False
        )

        said = manage("cluster", "list")

        assert f"from {cluster.kubeconfig}" in said
        assert re.search(
            r"^  namespaces +following +heard of \d+ s ago +\d+ objects$", said, re.MULTILINE
        )
        assert re.search(r"^  pods +forbidden to us .*pods is forbidden$", said, re.MULTILINE)
        assert "! Grant list and watch on pods." in said

    @pytest.mark.parametrize("verb", ["enable", "disable", "remove"])
    def test_that_is_unknown_is_named(self, verb: str) -> None:
        with pytest.raises(CommandError, match="no cluster is called lab"):
            manage("cluster", verb, "lab")

    def test_is_refused_with_a_kubeconfig_that_cannot_be_used(self, tmp_path: Path) -> None:
        with pytest.raises(CommandError, match="nowhere"):
            manage("cluster", "add", "lab", "--kubeconfig", str(tmp_path / "nowhere"))

        assert not Cluster.objects.exists()

    def test_is_refused_with_a_name_that_is_none(self, server: Devcluster) -> None:
        with pytest.raises(CommandError, match="valid"):
            manage("cluster", "add", "my lab!", "--kubeconfig", str(server.kubeconfig))


def test_one_client_is_shared_until_the_kubeconfig_changes(
    server: Devcluster, cluster: Cluster
) -> None:
    first = client_of(cluster)
    assert client_of(cluster) is first

    server.kubeconfig.write_text(server.kubeconfig.read_text() + "# touched\n")

    assert client_of(cluster) is not first


def test_without_an_enabled_cluster_there_is_no_current_one(cluster: Cluster) -> None:
    Cluster.objects.update(enabled=False)

    with pytest.raises(Cluster.DoesNotExist, match="cluster add"):
        only_cluster()
    assert not Cluster.objects.get(pk=cluster.pk).enabled


def test_everything_is_mirrored_at_once_and_found_right(api: Client, cluster: Cluster) -> None:
    api.create(RESOURCE_CLAIMS, a_new_claim("train"), namespace=NAMESPACE)
    api.create(RESOURCE_SLICES, a_published_slice("gpu-01", devices=2))

    said = manage("sync_once")

    assert "lab resourceclaims: 1 mirrored" in said
    assert ResourceClaim.objects.get().name == "train"
    assert Device.objects.filter(cluster=cluster).count() == 2
    assert manage("sync_check") == "no difference\n"


@pytest.mark.usefixtures("api")
def test_commands_may_be_about_one_cluster_alone(cluster: Cluster) -> None:
    away = Cluster.objects.create(name="away", kubeconfig="/nowhere/kubeconfig")

    assert "lab namespaces" in manage("sync_once", "--cluster", "lab")
    assert manage("sync_check", "--cluster", "lab") == "no difference\n"
    assert not away.cursors.filter(listed_at__isnull=False).exists()
    assert cluster.cursors.filter(listed_at__isnull=False).count() == len(MIRRORED)


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("command", ["sync_once", "sync_check"])
def test_commands_end_with_2_for_a_cluster_that_they_do_not_know(command: str) -> None:
    with pytest.raises(CommandError, match="no cluster is called 'elsewhere'") as ended:
        manage(command, "--cluster", "elsewhere")

    assert ended.value.returncode == 2


def test_what_cannot_be_listed_or_compared_ends_the_commands_apart(cluster: Cluster) -> None:
    Cluster.objects.filter(pk=cluster.pk).update(kubeconfig="/nowhere/kubeconfig")

    with pytest.raises(CommandError, match="not mirrored: lab namespaces") as listing:
        manage("sync_once")
    with pytest.raises(CommandError, match="/nowhere/kubeconfig") as comparing:
        manage("sync_check")

    assert (listing.value.returncode, comparing.value.returncode) == (1, 2)


def test_a_check_names_what_differs_and_fails(
    api: Client, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dra_console.sync.differences.PAUSE_SECONDS", 0.0)
    for name in ("altered", "unseen", "stale"):
        api.create(RESOURCE_CLAIMS, a_new_claim(name), namespace=NAMESPACE)
    api.create(RESOURCE_SLICES, a_published_slice("gpu-01", devices=1))
    manage("sync_once")
    altered = ResourceClaim.objects.get(name="altered")
    altered.raw["spec"]["devices"]["requests"][0]["name"] = "another"
    altered.save()
    ResourceClaim.objects.get(name="unseen").delete()
    api.delete(RESOURCE_CLAIMS, "stale", namespace=NAMESPACE)
    Device.objects.all().delete()
    DeviceAssignment.objects.create(
        cluster=cluster,
        claim_uid="nobody",
        claim_namespace=NAMESPACE,
        claim_name="nobody",
        request="gpu",
        driver="gpu.nvidia.com",
        pool="gpu-01",
        device="gpu-0",
        assigned_at=altered.created_at,
    )
    said = StringIO()

    with pytest.raises(CommandError, match="5 differences"):
        call_command("sync_check", stdout=said)

    found = said.getvalue()
    assert "spec.devices.requests[0].name differs" in found
    assert f"resourceclaims {NAMESPACE}/unseen: mirror missing" in found
    assert f"resourceclaims {NAMESPACE}/stale" in found
    assert "API server not there" in found
    assert "device gpu.nvidia.com/gpu-01/gpu-0 of slice gpu-01: mirror missing" in found
    assert "by request gpu of claim nobody: mirror there, API server not allocated" in found
