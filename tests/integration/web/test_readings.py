"""Pages with live readings in a real Redis."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http import HTTPStatus

import pytest
import redis
from django.test import Client
from pytest_django import Settings

from dra_console.mirror.models import Cluster
from dra_console.telemetry import records
from dra_console.telemetry.connections import redis_for_views
from dra_console.telemetry.details import DeviceDetails, DeviceProcess
from dra_console.telemetry.messages import Source
from tests.builders.fleets import a_fleet
from tests.builders.mirrored import mirror
from tests.builders.objects import DRIVER, a_pod, a_uid
from tests.integration.served_cluster import ServedCluster
from tests.integration.web.conftest import READS

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("cluster")]

GIBIBYTE = 2**30
NOWHERE = "redis://127.0.0.1:1/0"


@pytest.fixture
def store(redis_url: str) -> Iterator[redis.Redis]:
    client = redis.Redis.from_url(redis_url)
    yield client
    client.flushdb()
    client.close()


def report(
    store: redis.Redis, cluster: Cluster, *, seconds_ago: float, percent: int | None
) -> None:
    """Have the agent of gpu-01 report gpu-0, some time ago."""
    at = datetime.now(tz=UTC) - timedelta(seconds=seconds_ago)
    keys = records.Keys(cluster.pk)
    device = records.DeviceRecord("gpu-0", percent, 55 * GIBIBYTE, 80 * GIBIBYTE, 412_000, 61, 1980)
    sample = records.LatestRecord(DRIVER, "gpu-01", at, at, (device,))
    agent = records.AgentRecord("0.1.0", Source.SIMULATED, DRIVER, "gpu-01", "boot", at)
    store.hset(keys.latest, "gpu-01", records.encode(sample))
    store.hset(keys.agents, "gpu-01", records.encode(agent))
    store.zadd(keys.seen, {"gpu-01": at.timestamp()})


def test_board_shows_the_latest_reading_and_that_it_is_simulated(
    store: redis.Redis, cluster: Cluster, as_admin: Client
) -> None:
    report(store, cluster, seconds_ago=1, percent=97)

    text = as_admin.get("/devices/").content.decode()

    assert 'value="97"' in text
    assert "55 GiB" in text
    assert "simulated" in text


def test_silent_agents_device_keeps_its_last_value_and_is_marked_unknown(
    store: redis.Redis, cluster: Cluster, as_admin: Client
) -> None:
    report(store, cluster, seconds_ago=600, percent=97)

    text = as_admin.get("/devices/").content.decode()

    assert 'data-stale="true"' in text
    assert 'value="97"' in text
    assert "stale 10 min" in text


def test_reading_that_a_board_does_not_offer_is_said_not_to_be_reported(
    store: redis.Redis, cluster: Cluster, as_admin: Client
) -> None:
    report(store, cluster, seconds_ago=1, percent=None)

    text = as_admin.get("/devices/gpu.nvidia.com/gpu-01/gpu-0/").content.decode()

    assert "not reported" in text
    assert "412 W" in text


def report_details(
    store: redis.Redis, cluster: Cluster, details: DeviceDetails, *, seconds_ago: float
) -> None:
    """Have the agent of gpu-01 tell gpu-0's details, some time ago."""
    at = datetime.now(tz=UTC) - timedelta(seconds=seconds_ago)
    told = records.DetailsRecord(DRIVER, "gpu-01", at, {"gpu-0": details})
    store.hset(records.Keys(cluster.pk).details, "gpu-01", records.encode(told))


def test_details_come_alone_too_and_what_is_not_reported_is_never_0(
    store: redis.Redis, cluster: Cluster, as_admin: Client
) -> None:
    details = DeviceDetails(
        fan_percent=0, power_limit_milliwatts=700_000, clock_limits=("power-cap", "a-new-word")
    )
    report_details(store, cluster, details, seconds_ago=1)

    whole = as_admin.get("/devices/gpu.nvidia.com/gpu-01/gpu-0/").content.decode()
    alone = as_admin.get("/device-details/gpu.nvidia.com/gpu-01/gpu-0/").content.decode()

    for text in (whole, alone):
        words = dict(re.findall(r"<dt>([^<]+)</dt>\s*<dd[^>]*>\s*([^<]+?)\s*</dd>", text))
        assert (words["Power limit"], words["Fan"]) == ("700 W", "0 %")
        assert words["Held back by"] == "the power limit, a-new-word"
        assert {words["Encoder busy"], words["Corrected"], words["Link now"]} == {"not reported"}
        assert 'hx-get="/device-details/gpu.nvidia.com/gpu-01/gpu-0/"' in text
        assert "stale" not in text[text.index('id="device-details"') :].split("</h2>")[1]
    assert "Identity" not in alone


def test_details_that_are_old_say_so(
    store: redis.Redis, cluster: Cluster, as_admin: Client
) -> None:
    report_details(store, cluster, DeviceDetails(fan_percent=30), seconds_ago=31)

    text = as_admin.get("/device-details/gpu.nvidia.com/gpu-01/gpu-0/").content.decode()

    assert 'data-stale="true"' in text
    assert "30 %" in text
    assert "31 s ago" in text or "32 s ago" in text


def test_processes_are_named_by_their_pod_only_to_whoever_may_list_it(
    store: redis.Redis,
    served: ServedCluster,
    cluster: Cluster,
    as_admin: Client,
    as_researcher: Client,
) -> None:
    served.grant(
        "group:team-research", "pods", namespaces=frozenset({"team-research"}), verbs=READS
    )
    pods = [
        a_pod("train", namespace=namespace, node="gpu-01", phase="Running", claim="held")
        for namespace in ("team-research", "team-vision")
    ]
    mirror(cluster, *a_fleet(), *pods)
    processes = (
        DeviceProcess(pid=11, pod_uid=a_uid("Pod/team-research/train"), container_id="c" * 64),
        DeviceProcess(pid=12, pod_uid=a_uid("Pod/team-vision/train"), container_id="d" * 64),
        DeviceProcess(pid=13, memory_used_bytes=3 * GIBIBYTE),
    )
    details = DeviceDetails(process_count=70, processes=processes)
    report_details(store, cluster, details, seconds_ago=1)
    address = "/device-details/gpu.nvidia.com/gpu-01/gpu-0/"

    for_admin, for_researcher = (
        client.get(address).content.decode() for client in (as_admin, as_researcher)
    )

    assert 'href="/pods/team-vision/train/"' in for_admin
    for text in (for_admin, for_researcher):
        assert 'href="/pods/team-research/train/"' in text
        assert "no pod: a process of the host" in text
        assert "And 67 more" in text
        assert "3.0 GiB" in text
    assert "team-vision" not in for_researcher
    assert "d" * 12 not in for_researcher
    assert "a pod that you may not see" in for_researcher


def test_details_are_shown_to_nobody_who_may_not_list_slices(
    store: redis.Redis, cluster: Cluster, as_nobody: Client
) -> None:
    report_details(store, cluster, DeviceDetails(fan_percent=30), seconds_ago=1)

    answer = as_nobody.get("/device-details/gpu.nvidia.com/gpu-01/gpu-0/")

    assert answer.status_code == HTTPStatus.FORBIDDEN


@pytest.fixture
def _redis_is_away(settings: Settings) -> Iterator[None]:
    backend = "django.core.cache.backends.redis.RedisCache"
    settings.CACHES = {"default": {"BACKEND": backend, "LOCATION": NOWHERE}}
    settings.REDIS_URL = NOWHERE
    redis_for_views.cache_clear()
    yield
    redis_for_views.cache_clear()


@pytest.mark.usefixtures("_redis_is_away")
@pytest.mark.parametrize(
    "address", ["/", "/devices/", "/nodes/", "/devices/gpu.nvidia.com/gpu-01/gpu-0/"]
)
def test_pages_come_without_redis_and_claim_nothing_about_agents(
    as_admin: Client, address: str
) -> None:
    text = as_admin.get(address).content.decode()

    assert "gpu-0" in text
    assert "no agent" not in text
