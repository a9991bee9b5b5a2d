"""Write plans to the API server, in the order in which kube-scheduler writes them.

For each claim of a pod: finalizer (a normal update), then allocation and reservation (one
status update); when devices have to be prepared, wait for that; at last the pod's binding.
Each write carries the version that it is based on, so nobody is ever written over.

The plans of a round are written side by side, with one note in the database for all their
allocations in the middle: finalizers, note, everything else. What a crash leaves between any
two of these writes is gone on with or undone by the next run (docs/guarantees.md).
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from datetime import datetime, timedelta
from typing import TypeVar

from django.conf import settings

from dra_console.kube.client import Client
from dra_console.mirror.clock import database_now
from dra_console.mirror.models import Cluster
from dra_console.scheduling.errors import TurnOverError
from dra_console.scheduling.writing import notes
from dra_console.scheduling.writing.claim_status import uid_of
from dra_console.scheduling.writing.one_plan import PlanWriting
from dra_console.scheduling.writing.open_notes import OpenNotes
from dra_console.scheduling.writing.outcomes import Dropped, WriteOutcome
from dra_console.scheduling.writing.plan import Plan
from dra_console.scheduling.writing.sending import Holder, Writer

Item = TypeVar("Item")


def write_all(  # noqa: PLR0913 - what a round has
    client: Client,
    cluster: Cluster,
    plans: Sequence[Plan],
    *,
    lease: Holder,
    open_notes: OpenNotes,
    pool: Executor | None = None,
    now: datetime | None = None,
) -> list[WriteOutcome]:
    """Write the plans of a round; return what became of each, in their order.

    `open_notes` is told what became of the notes, and has to write that down some time.

    `now` is the database's time; without it the database is asked. `lease` is the allocation lease
    that the plans were made under. The database is used by the calling thread alone; the API
    server is spoken to by the threads of `pool`, if there is one.
    Plans must not allocate the same claim; they may reserve the same one.
    """
    writer = Writer(client, lease)
    now = now or database_now()
    timeout = timedelta(seconds=settings.BINDING_TIMEOUT_SECONDS)
    writings = [PlanWriting(writer, plan, now=now, timeout=timeout) for plan in plans]
    _each(pool, PlanWriting.prepare, writings)
    going = [writing for writing in writings if writing.outcome is None]
    noted = [claim for each in going for claim in each.to_note()]
    try:
        open_notes.note_anew(map(uid_of, noted))
        notes.note_all(cluster, noted, fence=lease.fence, now=now)
    except TurnOverError as error:
        for writing in going:
            writing.outcome = Dropped(str(error))
        going = []
    _each(pool, PlanWriting.write, going)
    open_notes.refuse(uid for each in going for uid in each.progress.refused())
    open_notes.stand(claim for each in going for claim in each.progress.newly_allocated())
    return [_outcome(writing) for writing in writings]


def _outcome(writing: PlanWriting) -> WriteOutcome:
    if writing.outcome is None:
        raise AssertionError("a plan that was written has an outcome")
    return writing.outcome


def _each(pool: Executor | None, do: Callable[[Item], None], items: Sequence[Item]) -> None:
    if pool is None or len(items) == 1:
        for item in items:
            do(item)
    else:
        for _ in pool.map(do, items):
            pass
