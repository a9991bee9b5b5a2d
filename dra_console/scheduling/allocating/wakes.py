"""What wakes the allocation window of a cluster, by way of Redis.

The mirror's writers push what has changed, by kind and key; the window takes it. Nothing here
is relied on: a push that is lost, or that comes while nobody listens, costs a few seconds, as
windows also compare what they know with the mirror, and beat opens one that is missing.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

import redis
from django.conf import settings

ROOM: Final = "room"
"""Stands for a kind in a wake-up whose keys are nodes on which pods came, went or changed."""

KEYS_AT_MOST: Final = 200
"""Named in one wake-up; of more it says only that much of the kind has changed."""

KEPT: Final = 1_000
KEPT_SECONDS: Final = 60
ANSWER_SECONDS: Final = 5


@dataclass(frozen=True, slots=True)
class Wake:
    """Objects of one kind that may have changed."""

    plural: str

    keys: tuple[str, ...] | None
    """`namespace/name`, or names of what is in no namespace; `None`: any of the kind."""


def push(cluster_id: int, wake: Wake) -> None:
    """Say that something has changed.

    Raises:
        RedisError: it could not be said.

    """
    keys = None if wake.keys is None or len(wake.keys) > KEYS_AT_MOST else [*wake.keys]
    with _redis().pipeline(transaction=False) as pipeline:
        pipeline.rpush(_key(cluster_id), json.dumps([wake.plural, keys]))
        pipeline.ltrim(_key(cluster_id), -KEPT, -1)
        pipeline.expire(_key(cluster_id), KEPT_SECONDS)
        pipeline.execute()


def take(cluster_id: int, *, timeout_seconds: float) -> Sequence[Wake]:
    """Take all that was said, waiting for the first; none if none came in time.

    Raises:
        RedisError: Redis does not answer.

    """
    first = _redis().blpop([_key(cluster_id)], timeout=timeout_seconds)
    if first is None:
        return ()
    more = _redis().lpop(_key(cluster_id), KEPT) or []
    return [_wake(text) for text in (first[1], *more)]


def is_waiting(cluster_id: int) -> bool:
    """Tell whether something was said that nobody has taken.

    Raises:
        RedisError: Redis does not answer.

    """
    return bool(_redis().exists(_key(cluster_id)))


def clear(cluster_id: int) -> None:
    """Forget what was said; for whoever reads everything anew after that.

    Raises:
        RedisError: Redis does not answer.

    """
    _redis().delete(_key(cluster_id))


def _wake(text: bytes) -> Wake:
    plural, keys = json.loads(text)
    return Wake(plural, None if keys is None else tuple(keys))


@cache
def _redis() -> "redis.Redis":
    return redis.Redis.from_url(
        settings.REDIS_URL, socket_timeout=ANSWER_SECONDS, socket_connect_timeout=2
    )


def _key(cluster_id: int) -> str:
    return f"schedule:wakes:{cluster_id}"
