"""What allocation windows have done, counted in Redis over all windows and workers.

Counters begin anew when Redis does, as Prometheus expects of counters. A window that dies loses
the count of its last second.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from functools import cache
from typing import Final

import redis
from django.conf import settings

from dra_console.scheduling.allocating.counts import Counts

ANSWER_SECONDS: Final = 5


class Counter:
    """Adds up what one window counts."""

    def __init__(self, cluster_id: int, counts: Counts) -> None:
        """Take the counts of a window that begins; whoever goes on counting changes them."""
        self._cluster_id: Final = cluster_id
        self._counts: Final = counts
        self._told: dict[str, float] = asdict(counts)

    def tell(self) -> None:
        """Add what was counted since.

        Raises:
            RedisError: Redis does not answer.

        """
        now: dict[str, float] = asdict(self._counts)
        grown = {name: now[name] - self._told[name] for name in now if now[name] > self._told[name]}
        if not grown:
            return
        with _redis().pipeline(transaction=False) as pipeline:
            for name, more in grown.items():
                pipeline.hincrbyfloat(_key(self._cluster_id), name, more)
            pipeline.execute()
        self._told = now


def counted(cluster_ids: Iterable[int]) -> Mapping[int, Mapping[str, float]]:
    """Return what was counted of each cluster, by the names of `Counts`; empty: nothing yet.

    Raises:
        RedisError: Redis does not answer.

    """
    ids = [*cluster_ids]
    with _redis().pipeline(transaction=False) as pipeline:
        for cluster_id in ids:
            pipeline.hgetall(_key(cluster_id))
        answers = pipeline.execute()
    return {
        cluster_id: {name.decode(): float(value) for name, value in answer.items()}
        for cluster_id, answer in zip(ids, answers, strict=True)
    }


@cache
def _redis() -> "redis.Redis":
    return redis.Redis.from_url(
        settings.REDIS_URL, socket_timeout=ANSWER_SECONDS, socket_connect_timeout=2
    )


def _key(cluster_id: int) -> str:
    return f"schedule:counts:{cluster_id}"
