import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.integration.devcluster.drivers import Driver
from tests.integration.devcluster.nodes import SmallCluster, small_store


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[SmallCluster]:
    """A store with one node, whose kubelet and controller a test starts."""
    # Not below `tmp_path`: paths of unix sockets have to be short.
    with small_store(tmp_path) as store, tempfile.TemporaryDirectory(prefix="kubelet") as nodes:
        small = SmallCluster(store, Path(nodes))
        yield small
        await small.stop()


@pytest.fixture
async def driver(cluster: SmallCluster) -> AsyncIterator[Driver]:
    """A driver of the cluster's node, which a test starts."""
    driver = Driver(cluster.node_directory)
    yield driver
    await driver.stop()
