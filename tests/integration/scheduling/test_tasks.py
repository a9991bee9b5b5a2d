"""When windows and explanations are queued, as the broker sees it: a real Redis, no worker."""

from collections.abc import Iterator

import pytest
import redis

from dra_console.events import claims_changed, inventory_changed
from dra_console.leases import lease
from dra_console.mirror.models import Cluster
from dra_console.scheduling.allocating import wakes
from dra_console.scheduling.allocating.wakes import KEYS_AT_MOST, Wake
from dra_console.scheduling.models import Attempt
from dra_console.scheduling.tasks import allocate_for_cluster, request_window, sweep, wake

pytestmark = pytest.mark.django_db(transaction=True)

CLAIM = Wake("resourceclaims", ("team/train",))


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


def queued(broker: redis.Redis, queue: str = "schedule") -> int:
    length = broker.llen(queue)
    assert isinstance(length, int)
    return length


def test_many_changes_open_one_window(broker: redis.Redis, cluster: Cluster) -> None:
    for _ in range(10):
        claims_changed.send(sender=None, cluster_id=cluster.pk, plural="pods", keys=["team/a"])
        inventory_changed.send(sender=None, cluster_id=cluster.pk, plural="nodes", keys=["a"])

    assert queued(broker) == 1


def test_each_cluster_has_its_own_window(broker: redis.Redis, cluster: Cluster) -> None:
    other = Cluster.objects.create(name="other", kubeconfig="/nowhere")

    for each in (cluster, other, cluster):
        request_window(each.pk)

    assert queued(broker) == 2


def test_an_open_window_hears_of_changes_and_no_other_is_opened(
    broker: redis.Redis, cluster: Cluster
) -> None:
    with lease(f"allocate:{cluster.pk}", seconds=15) as held:
        assert held is not None
        wake(cluster.pk, CLAIM)

    assert queued(broker) == 0
    assert wakes.take(cluster.pk, timeout_seconds=1) == [CLAIM]


def test_a_window_that_finds_the_lease_taken_leaves_what_was_said_to_its_holder(
    broker: redis.Redis, cluster: Cluster
) -> None:
    with lease(f"allocate:{cluster.pk}", seconds=15) as held:
        assert held is not None
        wake(cluster.pk, CLAIM)
        allocate_for_cluster(cluster.pk)

    assert wakes.is_waiting(cluster.pk)
    assert queued(broker) == 0
    assert not Attempt.objects.exists()


def test_a_change_after_a_window_was_taken_up_opens_another(
    broker: redis.Redis, cluster: Cluster
) -> None:
    request_window(cluster.pk)
    broker.delete("schedule")  # as a worker takes it
    cluster.delete()
    allocate_for_cluster(cluster.pk)

    request_window(cluster.pk)

    assert queued(broker) == 1


def test_a_queued_window_that_nobody_takes_blocks_the_next_for_a_bounded_time(
    broker: redis.Redis, cluster: Cluster
) -> None:
    request_window(cluster.pk)

    lives = [broker.ttl(key) for key in broker.keys("schedule:queued:*")]
    assert len(lives) == 1
    assert all(0 < seconds <= 10 for seconds in lives)


def test_explanations_are_left_to_another_queue(broker: redis.Redis, cluster: Cluster) -> None:
    wake(cluster.pk, CLAIM)
    wake(cluster.pk, CLAIM)

    assert queued(broker, "default") == 1


def test_the_sweep_opens_windows_of_enabled_clusters_only(
    broker: redis.Redis, cluster: Cluster
) -> None:
    Cluster.objects.create(name="resting", kubeconfig="/nowhere", enabled=False)

    sweep()

    assert queued(broker) == 1
    assert broker.exists(f"schedule:queued:{cluster.pk}")


@pytest.mark.usefixtures("broker")
def test_of_many_changes_it_is_said_only_that_there_are_many(cluster: Cluster) -> None:
    wakes.push(cluster.pk, Wake("nodes", tuple(map(str, range(KEYS_AT_MOST + 1)))))
    wakes.push(cluster.pk, Wake("pods", ("team/a", "team/b")))

    assert wakes.take(cluster.pk, timeout_seconds=1) == [
        Wake("nodes", None),
        Wake("pods", ("team/a", "team/b")),
    ]
    assert wakes.take(cluster.pk, timeout_seconds=1) == ()


def test_what_nobody_hears_is_kept_within_bounds(broker: redis.Redis, cluster: Cluster) -> None:
    for number in range(wakes.KEPT + 5):
        wakes.push(cluster.pk, Wake("pods", (str(number),)))

    (key,) = broker.keys("schedule:wakes:*")
    assert broker.llen(key) == wakes.KEPT
    assert 0 < broker.ttl(key) <= wakes.KEPT_SECONDS
