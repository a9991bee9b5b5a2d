"""Pages with live readings in a real Redis."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
import redis
from django.test import Client
from pytest_django import Settings

from dra_console.mirror.models import Cluster
from dra_console.telemetry import records
from dra_console.telemetry.connections import redis_for_views
from dra_console.telemetry.messages import Source
from tests.builders.objects import DRIVER

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
