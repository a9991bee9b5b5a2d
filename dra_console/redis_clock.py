"""The one clock that all processes of the console share: that of Redis.

The wall clocks of two machines may differ by any amount. What one process writes down for
another to compare with is therefore never its own time.
"""

from functools import cache
from typing import Final

import redis
from django.conf import settings

ANSWER_SECONDS: Final = 5


def milliseconds() -> int:
    """Return Redis' time, in milliseconds since 1970.

    Raises:
        RedisError: Redis does not answer.

    """
    seconds, microseconds = _redis().time()
    return int(seconds) * 1000 + int(microseconds) // 1000


@cache
def _redis() -> "redis.Redis":
    return redis.Redis.from_url(
        settings.REDIS_URL, socket_timeout=ANSWER_SECONDS, socket_connect_timeout=2
    )
