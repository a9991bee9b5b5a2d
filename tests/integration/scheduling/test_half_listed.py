"""Nothing is explained, and nothing called a conflict, from a cluster that is mirrored in part."""

from collections.abc import Iterator

import pytest
import redis

from dra_console.allocator.model import JsonObject
from dra_console.kube.kinds import RESOURCE_CLAIMS
from dra_console.mirror.models import Cluster, Cursor
from dra_console.scheduling.allocating.explaining import READ
from dra_console.scheduling.coexistence.tasks import look_for_conflicts
from dra_console.scheduling.models import Attempt, Conflict, ConflictCheck
from dra_console.scheduling.tasks import explain_for_cluster
from dra_console.sync.reconcile import apply
from tests.builders.boards import a_ready_node
from tests.builders.mirrored import SEEN_AT, mirror
from tests.builders.objects import a_claim, a_class, a_pod, a_slice, an_allocated_claim

pytestmark = pytest.mark.django_db(transaction=True)


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


def queued(broker: redis.Redis, task: str) -> int:
    messages = broker.lrange("default", 0, -1)
    assert isinstance(messages, list)
    return sum(task.encode() in message for message in messages)


def begin_list(cluster: Cluster, plural: str) -> None:
    """Leave the cursor as it is while a list is under way, whether the first or a later one."""
    Cursor.objects.filter(cluster=cluster, plural=plural).update(resource_version="")


def a_world() -> list[JsonObject]:
    return [a_ready_node(), a_class(), a_slice(), a_claim("train"), a_pod("train", claim="train")]


@pytest.mark.parametrize("plural", [kind.plural for kind in READ])
def test_what_waits_is_explained_once_all_kinds_that_say_why_are_listed(
    broker: redis.Redis, cluster: Cluster, plural: str
) -> None:
    mirror(cluster, *a_world())
    begin_list(cluster, plural)
    broker.flushdb()  # of what was queued for the changes

    explain_for_cluster(cluster.pk)

    assert not Attempt.objects.exists()
    assert queued(broker, "explain_for_cluster") == 1

    mirror(cluster)  # ends the list
    explain_for_cluster(cluster.pk)
    assert Attempt.objects.filter(pod_name="train").count() == 1


def test_explaining_does_not_wait_for_kinds_that_nobody_can_list(
    broker: redis.Redis, cluster: Cluster
) -> None:
    del broker
    mirror(cluster, *a_world())
    for plural in ("devicetaintrules", "nodes"):
        begin_list(cluster, plural)
        Cursor.objects.filter(cluster=cluster, plural=plural).update(served=False)

    explain_for_cluster(cluster.pk)

    assert Attempt.objects.filter(pod_name="train").exists()


def test_a_device_that_changed_hands_during_a_second_list_is_not_called_booked_twice(
    broker: redis.Redis, cluster: Cluster
) -> None:
    mirror(cluster, a_ready_node(), a_class(), a_slice(), an_allocated_claim("before"))
    begin_list(cluster, "resourceclaims")
    # A page of the list that says who has the device now; that the other claim is gone is
    # known at its end.
    apply(cluster, kind=RESOURCE_CLAIMS, objects=[an_allocated_claim("after")], seen_at=SEEN_AT)
    broker.flushdb()

    look_for_conflicts(cluster.pk)

    assert not ConflictCheck.objects.exists()
    assert not Conflict.objects.exists()
    assert queued(broker, "look_for_conflicts") == 1
