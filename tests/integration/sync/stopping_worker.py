"""The console's worker, but it stops itself in mid-batch where a file asks for that.

`celery -A tests.integration.sync.stopping_worker worker`. The file that `STOP_IN_MID_BATCH`
names says where: `before` the transaction, with the events in hand, or `inside` it, with the
cursor locked. The process stops as a frozen machine does (SIGSTOP) and knows nothing of it.
"""

import os
import signal
from collections.abc import Callable
from pathlib import Path

from celery.signals import worker_ready

from dra_console.celery import app

__all__ = ["app"]

PLURAL = "resourceclaims"
IDLE_SECONDS = 5
ORDER = Path(os.environ["STOP_IN_MID_BATCH"])


@worker_ready.connect
def stop_where_asked(**_: object) -> None:
    """Put the stops in, now that Django is there."""
    from dra_console.sync import cursors, follow

    def before(*arguments: object, **options: object) -> None:
        _stop_if_asked("before", getattr(arguments[0], "kind", None))
        flush(*arguments, **options)

    def inside(*arguments: object, **options: object) -> None:
        _stop_if_asked("inside", options["kind"])
        write(*arguments, **options)

    flush: Callable[..., None] = follow._flush
    write: Callable[..., None] = getattr(follow, "apply")  # noqa: B009 - it is imported there
    setattr(follow, "_flush", before)  # noqa: B010 - the type checker knows it as another function
    setattr(follow, "apply", inside)  # noqa: B010
    setattr(cursors, "IDLE_SECONDS", IDLE_SECONDS)  # noqa: B010


def _stop_if_asked(where: str, kind: object) -> None:
    if getattr(kind, "plural", "") == PLURAL and ORDER.exists() and ORDER.read_text() == where:
        ORDER.unlink()
        os.kill(os.getpid(), signal.SIGSTOP)
