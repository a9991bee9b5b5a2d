"""The console's worker with shorter terms, so that much can go wrong within minutes.

`celery -A tests.cluster.chaos.quick_worker worker`. A dead worker's kinds are free after 4 s
instead of 15, and windows end after 20 s instead of 240.
"""

from celery.signals import worker_ready

from dra_console.celery import app

__all__ = ["app"]

LEASE_SECONDS = 4
WINDOW_SECONDS = 20


@worker_ready.connect
def shorten_terms(**_: object) -> None:
    """Set the terms, now that Django is there."""
    from dra_console.sync import tasks

    setattr(tasks, "LEASE_SECONDS", LEASE_SECONDS)  # noqa: B010 - constants to the type checker
    setattr(tasks, "WINDOW_SECONDS", WINDOW_SECONDS)  # noqa: B010
