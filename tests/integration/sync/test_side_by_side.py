"""One worker follows two clusters, and nothing of one gets into the other."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from dra_console.kube.kinds import NAMESPACES, RESOURCE_CLAIMS
from dra_console.sync.mirrored import MIRRORED
from tests.e2e.demos import eventually
from tests.integration.served_cluster import ServedCluster, served_cluster
from tests.integration.sync.conftest import NAMESPACE
from tests.integration.sync.console import Console
from tests.integration.sync.windows import a_new_claim
from tests.migrated import put_sqlite

pytestmark = pytest.mark.long

PATIENCE_SECONDS = 120
NAMES = ("east", "west")


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[dict[str, ServedCluster]]:
    for name in NAMES:
        (tmp_path / name).mkdir()
    with served_cluster(tmp_path / "east") as east, served_cluster(tmp_path / "west") as west:
        yield {"east": east, "west": west}


@pytest.fixture
def console(servers: dict[str, ServedCluster], redis_url: str, tmp_path: Path) -> Iterator[Console]:
    client = redis.Redis.from_url(redis_url)
    client.flushdb()
    client.close()
    console = Console(tmp_path, redis_url, is_preloaded=True)
    put_sqlite(console.sqlite_file)
    for name, server in servers.items():
        server.grant("system:admin", "*")
        server.client.create(NAMESPACES, {"metadata": {"name": "kube-system"}})
        server.client.create(NAMESPACES, {"metadata": {"name": NAMESPACE}})
        added = console.manage("cluster", "add", name, "--kubeconfig", str(server.kubeconfig))
        assert added.returncode == 0, added.stderr
    yield console
    console.kill_all()


def test_one_worker_follows_two_clusters_side_by_side(
    servers: dict[str, ServedCluster], console: Console
) -> None:
    console.start_worker("one")
    everything = sorted((name, plural) for name in NAMES for plural in MIRRORED)
    eventually(
        lambda: sorted(_listed(console)) == everything, seconds=PATIENCE_SECONDS, what="all listed"
    )

    # Objects of one name, and one that only one of them has.
    for name, server in servers.items():
        for claim in ("train", f"only-{name}"):
            server.client.create(RESOURCE_CLAIMS, a_new_claim(claim), namespace=NAMESPACE)

    expected = sorted((name, claim) for name in NAMES for claim in ("train", f"only-{name}"))
    eventually(
        lambda: sorted(_claims(console)) == expected, seconds=PATIENCE_SECONDS, what="all claims"
    )
    checked = console.manage("sync_check")
    assert (checked.returncode, checked.stdout) == (0, "no difference\n"), checked.stderr

    console.manage("cluster", "disable", "west")
    for server in servers.values():
        server.client.create(RESOURCE_CLAIMS, a_new_claim("late"), namespace=NAMESPACE)
    eventually(
        lambda: ("east", "late") in _claims(console), seconds=PATIENCE_SECONDS, what="east goes on"
    )


def _listed(console: Console) -> list[tuple[object, ...]]:
    return console.rows(
        "SELECT name, plural FROM mirror_cursor JOIN mirror_cluster"
        " ON mirror_cluster.id = cluster_id WHERE listed_at IS NOT NULL"
    )


def _claims(console: Console) -> list[tuple[object, ...]]:
    return console.rows(
        "SELECT mirror_cluster.name, mirror_resourceclaim.name FROM mirror_resourceclaim"
        " JOIN mirror_cluster ON mirror_cluster.id = cluster_id"
    )
