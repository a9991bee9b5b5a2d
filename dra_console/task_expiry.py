"""Drop tasks that have waited too long (`expires`), whatever time the machines think it is.

Celery writes the sender's time into the message and compares it with the worker's. With an
hour between the two clocks every task that expires within a minute is dropped unseen, and
the console stands still; or none ever is. Here both ask Redis for the time.
"""

from datetime import UTC, datetime
from typing import Final

import structlog
from celery import Task
from celery.signals import before_task_publish
from redis import RedisError

from dra_console import redis_clock

log = structlog.get_logger()

EXPIRES_AT: Final = "expires_at_redis_milliseconds"
"""Header of a message, beside Celery's own."""


class AgedTask(Task):  # type: ignore[type-arg]  # generic for the type checker only
    """Base of the console's tasks."""

    Request = "dra_console.task_requests:AgedRequest"


@before_task_publish.connect
def note_expiry(headers: dict[str, object], **_: object) -> None:
    """Write down when the message expires, by Redis' clock.

    Without an answer of Redis the message keeps Celery's own expiry alone.
    """
    expires = headers.get("expires")
    if not isinstance(expires, str):
        return
    # Both by the sender's clock, a moment apart.
    left = datetime.fromisoformat(expires) - datetime.now(UTC)
    try:
        now = redis_clock.milliseconds()
    except RedisError as error:
        log.warning("expiry of a task is by our own clock", error=str(error))
        return
    headers[EXPIRES_AT] = now + round(left.total_seconds() * 1000)


def has_expired(headers: dict[str, object]) -> bool | None:
    """Tell whether a message has waited too long; `None` if only Celery's own clocks can tell."""
    expires_at = headers.get(EXPIRES_AT)
    if not isinstance(expires_at, int):
        return None
    try:
        return redis_clock.milliseconds() > expires_at
    except RedisError as error:
        log.warning("age of a task is not known", error=str(error))
        # Done once too often is harmless here, never done is not.
        return False
