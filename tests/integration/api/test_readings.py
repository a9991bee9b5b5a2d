"""Devices carry their latest reading with its age; what nobody reported is null, never 0."""

import asyncio
from datetime import UTC, datetime, timedelta
from http import HTTPStatus

import pytest
import redis
import redis.asyncio
from django.test import Client

from dra_console.allocator.model import Json, JsonObject
from dra_console.mirror.models import Cluster
from dra_console.telemetry import record
from dra_console.telemetry.messages import Hello, Sample, decode_frame
from tests.builders.fleets import a_fleet
from tests.builders.frames import a_device_sample, a_hello, a_sample, as_text
from tests.builders.mirrored import mirror
from tests.builders.objects import a_pod, a_uid
from tests.integration.api.conftest import READS
from tests.integration.served_cluster import ServedCluster

ADDRESS = "/api/v1/devices/gpu.nvidia.com/gpu-01/gpu-0/"


async def report(
    redis_url: str, cluster: Cluster, *, received_at: datetime, **further: Json
) -> None:
    """Report gpu-0 of gpu-01 at 97 % of 80 GiB, without a temperature, as its agent would."""
    reading = a_device_sample(
        "gpu-0", utilisation_percent=97, memory_total_bytes=80 * 2**30, **further
    )
    hello = decode_frame(as_text(a_hello()))
    sample = decode_frame(as_text(a_sample(1, reading)))
    assert isinstance(hello, Hello)
    assert isinstance(sample, Sample)
    connection = record.AgentConnection(
        cluster_id=cluster.pk, hello=hello, connected_at=received_at, connection_id="tests"
    )
    async with redis.asyncio.Redis.from_url(redis_url) as client:
        await record.record_hello(client, connection, received_at=received_at)
        await record.record_sample(client, connection, sample=sample, received_at=received_at)


def test_readings_that_cannot_be_had_are_a_problem_not_null(
    as_admin: Client, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirror(cluster, *a_fleet())
    nowhere = redis.Redis.from_url("redis://127.0.0.1:1/0")
    monkeypatch.setattr("dra_console.telemetry.store.redis_for_views", lambda: nowhere)

    answer = as_admin.get("/api/v1/devices/")

    assert answer.status_code == HTTPStatus.SERVICE_UNAVAILABLE
    assert answer.json()["type"] == "urn:dra-console:problem:redis-away"


@pytest.mark.parametrize(("seconds_ago", "is_stale"), [(1, False), (60, True)])
def test_a_reading_is_whole_and_tells_its_age(
    as_admin: Client, cluster: Cluster, redis_url: str, seconds_ago: int, is_stale: bool
) -> None:
    mirror(cluster, *a_fleet())
    received_at = datetime.now(tz=UTC) - timedelta(seconds=seconds_ago)
    asyncio.run(report(redis_url, cluster, received_at=received_at))

    listed, *others = as_admin.get("/api/v1/devices/").json()["items"]
    alone = as_admin.get(ADDRESS).json()

    for reading in (listed["reading"], alone["reading"]):
        assert reading["utilisationPercent"] == 97
        assert reading["memoryTotalBytes"] == 80 * 2**30
        assert reading["temperatureCelsius"] is None
        assert reading["memoryUsedBytes"] is None
        assert seconds_ago <= reading["ageSeconds"] < seconds_ago + 10
        assert reading["isStale"] is is_stale
    assert [one["reading"] for one in others] == [None] * 3


def test_one_device_alone_tells_its_details_and_whose_processes_a_reader_may_know(
    as_admin: Client, as_researcher: Client, served: ServedCluster, cluster: Cluster, redis_url: str
) -> None:
    served.grant(
        "group:team-research", "pods", namespaces=frozenset({"team-research"}), verbs=READS
    )
    ours, theirs = (
        a_pod("train", namespace=namespace, node="gpu-01", phase="Running")
        for namespace in ("team-research", "team-vision")
    )
    mirror(cluster, *a_fleet(), ours, theirs)
    details: JsonObject = {
        "fan_percent": 30,
        "clock_limits": ["power-cap"],
        "process_count": 3,
        "processes": [
            {"pid": 11, "memory_used_bytes": 5, "pod_uid": a_uid("Pod/team-research/train")},
            {"pid": 12, "pod_uid": a_uid("Pod/team-vision/train")},
            {"pid": 13},
        ],
    }
    asyncio.run(report(redis_url, cluster, received_at=datetime.now(tz=UTC), details=details))

    for_admin, for_researcher = (
        client.get(ADDRESS).json()["details"] for client in (as_admin, as_researcher)
    )

    assert for_admin["values"]["fanPercent"] == 30
    assert for_admin["values"]["clockLimits"] == ["power-cap"]
    assert for_admin["values"]["encoderPercent"] is None
    assert for_admin["isStale"] is False
    assert [
        (one["pid"], one["memoryUsedBytes"], one["inPod"], one["podNamespace"], one["podName"])
        for one in for_admin["processes"]
    ] == [
        (11, 5, True, "team-research", "train"),
        (12, None, True, "team-vision", "train"),
        (13, None, False, None, None),
    ]
    assert [one["podName"] for one in for_researcher["processes"]] == ["train", None, None]
    assert [one["inPod"] for one in for_researcher["processes"]] == [True, True, False]


def test_details_that_nobody_reported_are_null(
    as_admin: Client, cluster: Cluster, redis_url: str
) -> None:
    mirror(cluster, *a_fleet())
    asyncio.run(report(redis_url, cluster, received_at=datetime.now(tz=UTC)))

    assert as_admin.get(ADDRESS).json()["details"] is None
