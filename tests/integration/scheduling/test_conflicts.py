"""Looks for conflicts over mirrored rows: what is stored, what stays, and what is read again."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
import redis
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dra_console.allocator.model import JsonObject
from dra_console.events import claims_changed, inventory_changed
from dra_console.kube.kinds import BY_PLURAL
from dra_console.leases import lease
from dra_console.mirror.models import Cluster, Cursor
from dra_console.scheduling.coexistence import record
from dra_console.scheduling.coexistence.look import look
from dra_console.scheduling.coexistence.tasks import look_for_conflicts
from dra_console.scheduling.models import Conflict, ConflictCheck
from dra_console.sync.mirrored import MIRRORED
from dra_console.sync.objects import key_of
from dra_console.sync.reconcile import sweep
from tests.builders.mirrored import SEEN_AT, mirror
from tests.builders.objects import (
    a_class,
    a_device,
    a_node,
    a_pod,
    a_slice,
    a_taint,
    an_allocated_claim,
)

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis_url")]

LATER = SEEN_AT + timedelta(minutes=5)
QUERIES_WITHOUT_CHANGE = 6
"""The time, the cursors, and the row of the check, which is locked while it is written."""


@pytest.fixture
def cluster() -> Cluster:
    return Cluster.objects.create(name="test", kubeconfig="/nowhere")


@pytest.fixture
def broker(redis_url: str) -> Iterator[redis.Redis]:
    client = redis.Redis.from_url(redis_url)
    client.flushdb()
    yield client
    client.flushdb()
    client.close()


def a_world() -> list[JsonObject]:
    return [
        a_node(),
        a_class(),
        a_slice(),
        a_pod("train", claim="held", node="gpu-01", phase="Running"),
        an_allocated_claim("held", pods=("train",)),
    ]


def renewed(one: JsonObject, version: str = "2") -> JsonObject:
    metadata = one["metadata"]
    assert isinstance(metadata, dict)
    return {**one, "metadata": {**metadata, "resourceVersion": version}}


def mirror_again(cluster: Cluster, *objects: JsonObject, seen_at: datetime) -> None:
    """Mirror what a full list holds, and nothing else."""
    mirror(cluster, *objects, seen_at=seen_at)
    for plural in MIRRORED:
        kind = BY_PLURAL[plural]
        listed = {key_of(one) for one in objects if one["kind"] == kind.kind}
        sweep(cluster, kind=kind, listed=listed, seen_at=seen_at)


def kinds(cluster: Cluster) -> list[str]:
    return sorted(Conflict.objects.filter(cluster=cluster).values_list("kind", flat=True))


def test_a_look_at_a_sound_cluster_finds_nothing_and_says_what_it_looked_at(
    cluster: Cluster,
) -> None:
    mirror(cluster, *a_world())

    look(cluster)

    check = ConflictCheck.objects.get(cluster=cluster)
    assert not kinds(cluster)
    assert (check.claims, check.devices, check.unknown_kinds) == (1, 1, [])


def test_a_double_booking_is_kept_with_its_first_time_and_goes_when_it_ends(
    cluster: Cluster,
) -> None:
    second = an_allocated_claim("second", namespace="team-vision")
    mirror(cluster, *a_world(), second)
    look(cluster)
    before = Conflict.objects.get(kind="double-booking")

    third = an_allocated_claim("third", namespace="team-lab")
    mirror(cluster, *a_world(), second, third, seen_at=LATER)
    look(cluster)
    after = Conflict.objects.get(kind="double-booking")

    assert (before.pk, before.since) == (after.pk, after.since)
    assert after.namespaces == ["team-lab", "team-research", "team-vision"]

    mirror_again(cluster, *a_world(), seen_at=LATER + timedelta(minutes=1))
    look(cluster)
    assert "double-booking" not in kinds(cluster)


def test_others_can_write_while_findings_are_compared_with_those_that_stand(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    twice = [an_allocated_claim(name, pods=("train",)) for name in ("first", "second")]
    mirror(cluster, *a_world(), *twice)
    row_of, in_transactions = record._row, []

    def compared(*arguments: Any, **named: Any) -> Conflict:
        in_transactions.append(connection.in_atomic_block)
        return row_of(*arguments, **named)

    monkeypatch.setattr(record, "_row", compared)

    look(cluster)

    assert in_transactions
    assert not any(in_transactions)
    assert Conflict.objects.exists()


def test_nothing_is_read_again_where_no_cursor_has_moved(cluster: Cluster) -> None:
    mirror(cluster, *a_world(), an_allocated_claim("second"))
    assert look(cluster)

    with CaptureQueriesContext(connection) as queries:
        has_changed = look(cluster)

    assert not has_changed
    assert len(queries) <= QUERIES_WITHOUT_CHANGE
    assert kinds(cluster) == ["double-booking", "unreserved"]


def test_a_changed_class_is_compared_with_claims_that_did_not_change(cluster: Cluster) -> None:
    mirror(cluster, *a_world())
    look(cluster)

    narrowed = renewed(a_class(selectors=['device.driver == "another.example"']))
    objects = [one for one in a_world() if one["kind"] != "DeviceClass"]
    mirror(cluster, *objects, narrowed, seen_at=LATER)
    look(cluster)
    assert kinds(cluster) == ["no-match"]

    mirror(cluster, *objects, renewed(a_class(), "3"), seen_at=LATER + timedelta(minutes=1))
    look(cluster)
    assert not kinds(cluster)


def test_a_changed_slice_is_compared_with_claims_that_did_not_change(cluster: Cluster) -> None:
    mirror(cluster, *a_world())
    look(cluster)
    objects = [one for one in a_world() if one["kind"] != "ResourceSlice"]

    sick = renewed(a_slice(devices=[a_device(taints=[a_taint(effect="NoExecute")])]))
    mirror(cluster, *objects, sick, seen_at=LATER)
    look(cluster)
    assert kinds(cluster) == ["no-execute"]

    mirror_again(cluster, *objects, seen_at=LATER + timedelta(minutes=1))
    look(cluster)
    assert kinds(cluster) == ["vanished-device"]


def test_kinds_that_are_not_mirrored_are_named_and_nothing_is_said_of_them(
    cluster: Cluster,
) -> None:
    mirror(cluster, *a_world())
    Cursor.objects.filter(plural__in=("resourceslices", "pods")).update(served=False)

    look(cluster)

    check = ConflictCheck.objects.get(cluster=cluster)
    assert not kinds(cluster)
    assert check.unknown_kinds == ["pods", "resourceslices"]
    assert check.devices is None


def test_a_vanished_pool_is_told_only_after_a_while(cluster: Cluster) -> None:
    mirror(cluster, *[one for one in a_world() if one["kind"] != "ResourceSlice"])

    look(cluster)

    found = Conflict.objects.get(kind="vanished-device")
    assert found.told_from - found.since == timedelta(seconds=60)


def test_changes_queue_one_look_away_from_the_queue_of_allocations(
    broker: redis.Redis, cluster: Cluster
) -> None:
    for _ in range(3):
        claims_changed.send(sender=None, cluster_id=cluster.pk)
        inventory_changed.send(sender=None, cluster_id=cluster.pk)

    messages = broker.lrange("default", 0, -1)
    assert isinstance(messages, list)
    assert sum(b"look_for_conflicts" in message for message in messages) == 1


def test_a_look_that_somebody_else_takes_is_not_taken_twice(
    broker: redis.Redis, cluster: Cluster
) -> None:
    del broker
    mirror(cluster, *a_world())
    with lease(f"conflicts:{cluster.pk}", seconds=15) as held:
        assert held is not None
        look_for_conflicts(cluster.pk)

    assert not ConflictCheck.objects.exists()

    look_for_conflicts(cluster.pk)
    assert ConflictCheck.objects.exists()
