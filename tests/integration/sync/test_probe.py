"""What is noted of an API server that is asked how it is, and of one that does not answer."""

from datetime import UTC, datetime, timedelta

import pytest

from dra_console.mirror.models import ApiServer, Cluster
from dra_console.sync.probe import probe
from tests.integration.devclusters import Devcluster

pytestmark = pytest.mark.django_db(transaction=True)

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
LATER = NOW + timedelta(seconds=30)


def test_an_answer_is_noted_and_kept_when_none_comes_later(
    server: Devcluster, cluster: Cluster
) -> None:
    probe(cluster, now=NOW)
    told = ApiServer.objects.get(cluster=cluster)
    server.kill()
    probe(cluster, now=LATER)
    silent = ApiServer.objects.get(cluster=cluster)

    assert (told.asked_at, told.answered_at, told.error) == (NOW, NOW, "")
    assert told.version.startswith("v1.")
    assert "v1" in told.resource_versions
    assert told.username == "system:admin"
    assert (silent.asked_at, silent.answered_at) == (LATER, NOW)
    assert str(server.port) in silent.error
    assert (silent.version, silent.username) == (told.version, told.username)


def test_nothing_is_noted_of_a_cluster_that_was_removed_meanwhile(cluster: Cluster) -> None:
    Cluster.objects.all().delete()

    probe(cluster, now=NOW)

    assert not ApiServer.objects.exists()


def test_a_kubeconfig_that_is_gone_is_said_with_its_path(cluster: Cluster) -> None:
    cluster.kubeconfig = "/nowhere/kubeconfig"

    probe(cluster, now=NOW)

    said = ApiServer.objects.get(cluster=cluster)
    assert said.answered_at is None
    assert "/nowhere/kubeconfig" in said.error
