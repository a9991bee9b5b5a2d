from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from dra_console.kube.client import Client
from dra_console.kube.kinds import RESOURCE_CLAIMS, RESOURCE_SLICES
from dra_console.mirror.clusters import client_of, only_cluster
from dra_console.mirror.models import Cluster, Device, DeviceAssignment, ResourceClaim
from tests.integration.devclusters import Devcluster
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

    def test_is_refused_with_a_kubeconfig_that_cannot_be_used(self, tmp_path: Path) -> None:
        with pytest.raises(CommandError, match="nowhere"):
            manage("cluster", "add", "lab", "--kubeconfig", str(tmp_path / "nowhere"))

        assert not Cluster.objects.exists()

    def test_is_refused_with_a_name_that_is_none(self, server: Devcluster) -> None:
        with pytest.raises(CommandError, match="valid"):
            manage("cluster", "add", "my lab!", "--kubeconfig", str(server.kubeconfig))

    def test_that_is_unknown_cannot_be_removed(self) -> None:
        with pytest.raises(CommandError, match="no cluster is called lab"):
            manage("cluster", "remove", "lab")


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
