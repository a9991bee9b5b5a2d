"""What an allocation window knows of those who wait for it, for other processes to read.

Kept in Redis and for minutes only: a window that begins tries everything anew, and nobody
decides on anything by these notes. Without an answer from Redis nothing is known, which is
what readers say then.
"""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

import msgspec
import redis
import structlog
from django.conf import settings

KEPT_SECONDS: Final = 300
"""So long after the last word of any window."""

ANSWER_SECONDS: Final = 2

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class QueueNote:
    """One who was tried in vain."""

    tries: int
    """Since it came or changed."""

    next_try_at: float
    """Seconds since the epoch, before which it is not tried unless something of its own changes."""

    waits_for_change: bool
    """Whether it is tried then only if something has changed that may let it fit."""

    reason: str
    noted_at: float
    """Seconds since the epoch."""


def note(cluster_id: int, notes: Mapping[str, QueueNote], *, done: Iterable[str] = ()) -> None:
    """Say what is known of these, by UID, and that others wait no more.

    A Redis that does not answer is logged: nothing depends on it.
    """
    gone = [*done]
    if not notes and not gone:
        return
    key = _key(cluster_id)
    try:
        with _redis().pipeline(transaction=False) as pipeline:
            if notes:
                pipeline.hset(key, mapping={uid: _encode(each) for uid, each in notes.items()})
            if gone:
                pipeline.hdel(key, *gone)
            pipeline.expire(key, KEPT_SECONDS)
            pipeline.execute()
    except redis.RedisError as error:
        log.warning("queue not told of", cluster=cluster_id, error=str(error))


def clear(cluster_id: int) -> None:
    """Forget all, for a window that begins."""
    try:
        _redis().delete(_key(cluster_id))
    except redis.RedisError as error:
        log.warning("queue not told of", cluster=cluster_id, error=str(error))


def notes_of(cluster_id: int) -> Mapping[str, QueueNote] | None:
    """Return what is known, by UID; `None`: nobody knows, as Redis does not answer."""
    try:
        stored = _redis().hgetall(_key(cluster_id))
    except redis.RedisError as error:
        log.warning("queue not known", cluster=cluster_id, error=str(error))
        return None
    return {
        uid.decode() if isinstance(uid, bytes) else uid: _decode(text)
        for uid, text in stored.items()
    }


def in_seconds(seconds: float) -> float:
    """Return the moment in so many seconds, in seconds since the epoch."""
    return time.time() + seconds


_encode: Final = msgspec.json.encode
_decode: Final = msgspec.json.Decoder(QueueNote).decode


@cache
def _redis() -> "redis.Redis":
    return redis.Redis.from_url(
        settings.REDIS_URL,
        socket_timeout=ANSWER_SECONDS,
        socket_connect_timeout=ANSWER_SECONDS,
    )


def _key(cluster_id: int) -> str:
    return f"schedule:queue:{cluster_id}"
