"""Connections to Redis: one pool a process for views and tasks, one an event loop for consumers.

An asyncio connection belongs to the event loop it was opened on, so those are kept by
loop; a server process has one loop, tests have many.
"""

from asyncio import AbstractEventLoop, get_running_loop
from functools import cache
from typing import Final
from weakref import WeakKeyDictionary

import redis.asyncio
from django.conf import settings
from redis.asyncio import BlockingConnectionPool

CONSUMER_CONNECTIONS: Final = 32
"""Hundreds of agents may speak in one moment: they wait for a connection, in turn."""

WAIT_SECONDS: Final = 5


@cache
def redis_for_views() -> redis.Redis:
    """Give the process' connection pool for synchronous code."""
    return redis.Redis.from_url(settings.REDIS_URL)


_by_loop: WeakKeyDictionary[AbstractEventLoop, redis.asyncio.Redis] = WeakKeyDictionary()


def redis_for_consumers() -> redis.asyncio.Redis:
    """Give the running event loop's connection pool."""
    loop = get_running_loop()
    if loop not in _by_loop:
        pool = BlockingConnectionPool.from_url(
            settings.REDIS_URL, max_connections=CONSUMER_CONNECTIONS, timeout=WAIT_SECONDS
        )
        _by_loop[loop] = redis.asyncio.Redis.from_pool(pool)
    return _by_loop[loop]


async def close_redis_for_consumers() -> None:
    """Close the running event loop's connections, if it has any."""
    if client := _by_loop.pop(get_running_loop(), None):
        await client.aclose()
