"""How long ago topics changed, for pages that begin to listen a moment after they were made.

What changes between the making of a page and its subscription is told to nobody. So each
change leaves a key in Redis that lives for a while; the time that it has used up of its
life is the change's age. No process' clock takes part.
"""

from collections.abc import Iterable
from functools import cache
from typing import Final

import redis
from django.conf import settings

KEPT_SECONDS: Final = 600
"""A page that took longer to be made is refreshed in any case."""

ANSWER_SECONDS: Final = 5


def note_changes(topics: Iterable[str]) -> None:
    """Remember that these topics changed now, before their subscribers are told.

    Raises:
        RedisError: Redis does not answer.

    """
    commands = _redis().pipeline(transaction=False)
    for topic in topics:
        commands.set(_key(topic), b"", px=KEPT_SECONDS * 1000)
    commands.execute()


def seconds_since_changes(topics: Iterable[str]) -> dict[str, float]:
    """Tell each topic's age; `KEPT_SECONDS` stands for at least so long, or never.

    To miss nothing, ask once the topics are subscribed.

    Raises:
        RedisError: Redis does not answer.

    """
    asked = list(topics)
    commands = _redis().pipeline(transaction=False)
    for topic in asked:
        commands.pttl(_key(topic))
    lives_left = [max(0, milliseconds) for milliseconds in commands.execute()]
    return {
        topic: KEPT_SECONDS - milliseconds / 1000
        for topic, milliseconds in zip(asked, lives_left, strict=True)
    }


def _key(topic: str) -> str:
    return f"topic-changed:{topic}"


@cache
def _redis() -> "redis.Redis":
    return redis.Redis.from_url(
        settings.REDIS_URL, socket_timeout=ANSWER_SECONDS, socket_connect_timeout=2
    )
