from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from dra_console.kube.client import Client
from dra_console.kube.kinds import NAMESPACES
from dra_console.mirror.models import Cluster
from tests.integration.devclusters import Devcluster, running_devcluster

NAMESPACE = "lab"
FEW_EVENTS = 20


@pytest.fixture
def server(tmp_path: Path, redis_url: str) -> Iterator[Devcluster]:
    """An API server that remembers `FEW_EVENTS` events, and a Redis without leases."""
    client = redis.Redis.from_url(redis_url)
    client.flushdb()
    client.close()
    with running_devcluster(tmp_path, options=("--kept-events", str(FEW_EVENTS))) as server:
        yield server


@pytest.fixture
def api(server: Devcluster) -> Iterator[Client]:
    client = Client.from_kubeconfig(str(server.kubeconfig))
    client.create(
        NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    )
    yield client
    client.close()


@pytest.fixture
def cluster(server: Devcluster, transactional_db: None) -> Cluster:  # noqa: ARG001 - asked for its effect
    return Cluster.objects.create(name="lab", kubeconfig=str(server.kubeconfig))
