"""Both servers that live state may lie in: Redis, and fakeredis for the demo without one."""

import threading
from collections.abc import AsyncIterator, Iterator

import pytest
import redis.asyncio
from fakeredis import TcpFakeServer
from pytest_django import Settings

from dra_console.telemetry.connections import (
    close_redis_for_consumers,
    redis_for_consumers,
    redis_for_views,
)


@pytest.fixture
def fakeredis_url() -> Iterator[str]:
    server = TcpFakeServer(("127.0.0.1", 0), server_type="redis")
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield f"redis://127.0.0.1:{server.server_address[1]}/0"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(params=["redis_url", "fakeredis_url"], autouse=True)
def empty_redis(request: pytest.FixtureRequest, settings: Settings) -> Iterator[None]:
    settings.REDIS_URL = request.getfixturevalue(request.param)
    redis_for_views.cache_clear()
    redis_for_views().flushall()
    yield
    redis_for_views().close()
    redis_for_views.cache_clear()


@pytest.fixture
async def client(empty_redis: None) -> AsyncIterator[redis.asyncio.Redis]:
    del empty_redis
    yield redis_for_consumers()
    await close_redis_for_consumers()
