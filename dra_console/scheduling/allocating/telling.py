"""Tell pages until when those wait who were tried in vain, and why (`planning.queue_notes`)."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from dra_console.scheduling.allocating.queueing import Item, Queue
from dra_console.scheduling.planning import queue_notes
from dra_console.scheduling.planning.queue_notes import QueueNote, in_seconds


@dataclass(slots=True)
class Teller:
    """What was told of one cluster's queue in this window."""

    cluster_id: int
    _told: set[str] = field(default_factory=set)
    """UIDs of those who were said to wait."""

    def begin(self) -> None:
        """Forget what an earlier window has told: this one tries everything."""
        queue_notes.clear(self.cluster_id)

    def tell(self, queue: Queue, tried: Mapping[Item, str]) -> None:
        """Tell of those who were tried, by UID: they wait again, or wait no more."""
        now = time.monotonic()
        notes: dict[str, QueueNote] = {}
        for item, uid in tried.items():
            parked = queue.parked(item)
            if parked is not None:
                notes[uid] = QueueNote(
                    parked.tries,
                    in_seconds(parked.not_before - now),
                    waits_for_change=parked.gains is not None,
                    reason=parked.reason,
                    noted_at=in_seconds(0.0),
                )
        done = (self._told & {*tried.values()}) - notes.keys()
        queue_notes.note(self.cluster_id, notes, done=done)
        self._told = (self._told | notes.keys()) - done
