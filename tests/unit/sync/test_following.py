"""What is said of each kind, from what the cursor holds and whether a worker follows it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from redis.exceptions import ConnectionError as RedisConnectionError

from dra_console.mirror.models import ApiServer, Cluster, Cursor, Namespace
from dra_console.sync import followed_rows
from dra_console.sync.following import (
    ClusterFollowed,
    FollowState,
    KindFollowed,
    follow_states,
    troubled_kinds,
)
from dra_console.sync.mirrored import MIRRORED
from dra_console.sync.tasks import lease_name

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
JUST_NOW = NOW - timedelta(seconds=3)
LONG_AGO = NOW - timedelta(minutes=10)


@pytest.fixture
def cluster() -> Cluster:
    return Cluster.objects.create(name="lab")


@pytest.fixture
def leases(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Stand in for Redis: the names that are held."""
    held: set[str] = set()
    monkeypatch.setattr(followed_rows, "held_among", held.intersection)
    return held


def a_cursor(cluster: Cluster, plural: str = "pods", **columns: Any) -> Cursor:
    as_usual = {"resource_version": "7", "listed_at": LONG_AGO, "last_contact_at": JUST_NOW}
    return Cursor.objects.create(cluster=cluster, plural=plural, **{**as_usual, **columns})


def kind_of(cluster: Cluster, plural: str = "pods") -> KindFollowed:
    [followed] = follow_states([cluster], now=NOW)
    [kind] = [kind for kind in followed.kinds if kind.plural == plural]
    return kind


@pytest.mark.parametrize(
    ("columns", "is_held", "state"),
    [
        ({}, True, FollowState.FOLLOWING),
        ({}, False, FollowState.FOLLOWING),
        ({"resource_version": ""}, True, FollowState.CATCHING_UP),
        ({"resource_version": "", "last_contact_at": None}, True, FollowState.CATCHING_UP),
        ({"served": False, "error_status": 404, "error": "x"}, False, FollowState.NOT_SERVED),
        ({"served": False, "error_status": 403, "error": "x"}, False, FollowState.FORBIDDEN),
        ({"error": "no route", "last_contact_at": LONG_AGO}, False, FollowState.FAILING),
        ({"error": "who are you", "error_status": 401}, True, FollowState.FAILING),
        ({"last_contact_at": LONG_AGO}, False, FollowState.SILENT),
        ({"last_contact_at": LONG_AGO}, True, FollowState.FOLLOWING),
        ({"resource_version": "", "last_contact_at": None}, False, FollowState.SILENT),
    ],
)
def test_state_of_a_kind(
    cluster: Cluster,
    leases: set[str],
    columns: dict[str, Any],
    is_held: bool,
    state: FollowState,
) -> None:
    a_cursor(cluster, **columns)
    if is_held:
        leases.add(lease_name(cluster.pk, "pods"))

    assert kind_of(cluster).state is state


def test_what_is_not_known_is_none_and_never_zero(cluster: Cluster, leases: set[str]) -> None:
    del leases
    a_cursor(cluster, listed_at=None, last_contact_at=None)

    kind = kind_of(cluster)

    assert (kind.lag, kind.objects, kind.last_event_at) == (None, None, None)


def test_objects_are_counted_for_each_cluster_alone(cluster: Cluster, leases: set[str]) -> None:
    del leases
    other = Cluster.objects.create(name="other")
    a_cursor(cluster, "namespaces")
    a_cursor(other, "namespaces")
    for name in ("a", "b"):
        Namespace.objects.create(cluster=other, uid=name, name=name, created_at=NOW, raw={})

    assert kind_of(cluster, "namespaces").objects == 0
    assert kind_of(other, "namespaces").objects == 2


def test_without_redis_nobody_is_accused_of_silence_that_just_began(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_names: object) -> frozenset[str]:
        raise RedisConnectionError

    monkeypatch.setattr(followed_rows, "held_among", refuse)
    a_cursor(cluster, last_contact_at=None, resource_version="")

    [followed] = follow_states([cluster], now=NOW)

    assert followed.windows_held is None
    assert kind_of(cluster).state is FollowState.CATCHING_UP


def test_disabled_cluster_is_disabled_whatever_its_cursors_say(
    cluster: Cluster, leases: set[str]
) -> None:
    del leases
    a_cursor(cluster, error="no route")
    cluster.enabled = False
    cluster.save()

    assert kind_of(cluster).state is FollowState.DISABLED
    assert troubled_kinds([cluster], now=NOW) == {cluster.pk: ()}


def test_kinds_that_a_healthy_server_may_lack_are_no_trouble(
    cluster: Cluster, leases: set[str]
) -> None:
    leases.update(lease_name(cluster.pk, plural) for plural in MIRRORED)
    lacking = {"served": False, "error": "not served", "error_status": 404}
    for plural in MIRRORED:
        a_cursor(cluster, plural)
    Cursor.objects.filter(plural__in=("devicetaintrules", "resourceslices")).update(**lacking)

    troubles = troubled_kinds([cluster], now=NOW)[cluster.pk]

    assert [kind.plural for kind in troubles] == ["resourceslices"]


def test_lag_of_a_cluster_is_that_of_the_kind_heard_of_longest_ago(
    cluster: Cluster, leases: set[str]
) -> None:
    leases.update(lease_name(cluster.pk, plural) for plural in MIRRORED)
    for plural in MIRRORED:
        a_cursor(cluster, plural)
    Cursor.objects.filter(plural="nodes").update(last_contact_at=NOW - timedelta(seconds=50))
    Cursor.objects.filter(plural="pods").update(
        last_contact_at=LONG_AGO, served=False, error="no", error_status=403
    )

    [followed] = follow_states([cluster], now=NOW)
    assert followed.lag == timedelta(seconds=50)

    Cursor.objects.filter(plural="nodes").update(last_contact_at=None)
    [followed] = follow_states([cluster], now=NOW)
    assert followed.lag is None


@pytest.mark.parametrize(("error", "is_reachable"), [("", True), ("no route", False)])
def test_api_server_is_reachable_if_it_answered_last(
    cluster: Cluster, leases: set[str], error: str, is_reachable: bool
) -> None:
    del leases
    assert _followed(cluster).is_reachable is None

    ApiServer.objects.create(cluster=cluster, asked_at=NOW, answered_at=LONG_AGO, error=error)

    assert _followed(cluster).is_reachable is is_reachable


def _followed(cluster: Cluster) -> ClusterFollowed:
    [followed] = follow_states([cluster], now=NOW)
    return followed
