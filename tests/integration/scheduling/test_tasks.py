"""When runs are queued, as the broker sees it: a real Redis, no worker."""

from collections.abc import Iterator

import pytest
import redis

from dra_console.events import claims_changed, inventory_changed
from dra_console.leases import lease
from dra_console.mirror.models import Cluster
from dra_console.scheduling.models import Attempt
from dra_console.scheduling.tasks import request_run, schedule_cluster, sweep

pytestmark = pytest.mark.django_db(transaction=True)

QUEUE = "schedule"


@pytest.fixture
def broker(redis_url: str) -> Iterator[redis.Redis]:
    client = redis.Redis.from_url(redis_url)
    client.flushdb()
    yield client
    client.flushdb()
    client.close()


@pytest.fixture
def cluster() -> Cluster:
    return Cluster.objects.create(name="test", kubeconfig="/nowhere")


def queued(broker: redis.Redis) -> int:
    length = broker.llen(QUEUE)
    assert isinstance(length, int)
    return length


def test_many_changes_make_one_run(broker: redis.Redis, cluster: Cluster) -> None:
    for _ in range(10):
        claims_changed.send(sender=None, cluster_id=cluster.pk)
        inventory_changed.send(sender=None, cluster_id=cluster.pk)

    assert queued(broker) == 1


def test_each_cluster_has_its_own_run(broker: redis.Redis, cluster: Cluster) -> None:
    other = Cluster.objects.create(name="other", kubeconfig="/nowhere")

    for each in (cluster, other, cluster):
        request_run(each.pk)

    assert queued(broker) == 2


def test_a_run_under_way_elsewhere_is_followed_by_another(
    broker: redis.Redis, cluster: Cluster
) -> None:
    with lease(f"allocate:{cluster.pk}", seconds=15) as held:
        assert held is not None
        schedule_cluster(cluster.pk)

    assert queued(broker) == 1
    assert not Attempt.objects.exists()


def test_a_change_after_a_run_has_begun_makes_another(
    broker: redis.Redis, cluster: Cluster
) -> None:
    request_run(cluster.pk)
    broker.delete(QUEUE)  # as a worker takes it
    cluster.delete()
    schedule_cluster(cluster.pk)

    request_run(cluster.pk)

    assert queued(broker) == 1


def test_a_queued_run_that_nobody_takes_blocks_the_next_for_a_bounded_time(
    broker: redis.Redis, cluster: Cluster
) -> None:
    request_run(cluster.pk)

    lives = [broker.ttl(key) for key in broker.keys("schedule:queued:*")]
    assert len(lives) == 1
    assert all(0 < seconds <= 10 for seconds in lives)


def test_the_sweep_runs_enabled_clusters_only(broker: redis.Redis, cluster: Cluster) -> None:
    Cluster.objects.create(name="resting", kubeconfig="/nowhere", enabled=False)

    sweep()

    assert queued(broker) == 1
    assert broker.exists(f"schedule:queued:{cluster.pk}")
