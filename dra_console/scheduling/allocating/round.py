"""One round: plan what is due, write all plans side by side, take in what became of them."""

import time
from concurrent.futures import Executor
from dataclasses import dataclass, field

import structlog

from dra_console.kube.client import Client
from dra_console.leases import Lease
from dra_console.mirror.clock import DatabaseClock
from dra_console.scheduling.allocating.counts import Counts
from dra_console.scheduling.allocating.drafting import Draft, Drafter
from dra_console.scheduling.allocating.queueing import REFUSED_PAUSE_SECONDS, Queue, What
from dra_console.scheduling.allocating.resident import Resident
from dra_console.scheduling.allocating.telling import Teller
from dra_console.scheduling.writing import outcomes, pod_events
from dra_console.scheduling.writing.commit import write_all
from dra_console.scheduling.writing.open_notes import OpenNotes
from dra_console.scheduling.writing.outcomes import WriteOutcome

log = structlog.get_logger()


@dataclass(slots=True)
class Rounds:
    """What rounds share: who writes, the world, and who waits."""

    client: Client
    lease: Lease
    resident: Resident
    queue: Queue
    pool: Executor | None = None
    counts: Counts = field(default_factory=Counts)
    doubtful: set[str] = field(default_factory=set)
    """UIDs of claims of which nobody knows yet whether their allocation is written."""

    open_notes: OpenNotes = field(default_factory=OpenNotes)
    """Where it is kept what became of notes, for whoever writes it down."""

    _clock: DatabaseClock = field(default_factory=DatabaseClock)
    _drafter: Drafter = field(init=False)
    _teller: Teller = field(init=False)

    def __post_init__(self) -> None:
        """Begin to plan, and to tell of the queue."""
        self._drafter = Drafter(self.client, self.lease, self.resident, self.queue, self.counts)
        self._teller = Teller(self.resident.cluster.pk)
        self._teller.begin()

    def run(self) -> bool:
        """Plan and write once; tell whether anything was tried."""
        began_at = time.monotonic()
        due = self.queue.take(now=began_at, gains=self.resident.gains)
        if not due:
            return False
        drafter = self._drafter
        uids = {item: pending.uid for item in due if (pending := drafter.pending(item)) is not None}
        drafts = drafter.draft(due)
        if drafts:
            done = write_all(
                self.client,
                self.resident.cluster,
                [draft.plan for draft in drafts],
                lease=self.lease,
                pool=self.pool,
                open_notes=self.open_notes,
                now=self._clock.now(),
            )
            for draft, outcome in zip(drafts, done, strict=True):
                self._take(draft, outcome)
            pod_events.tell(self.client, zip((draft.plan for draft in drafts), done, strict=True))
        self._teller.tell(self.queue, uids)
        self.counts.rounds += 1
        self.counts.seconds += time.monotonic() - began_at
        return True

    def _take(self, draft: Draft, outcome: WriteOutcome) -> None:
        """Let the world be as the writing of a plan has left it."""
        for raw in outcome.claims:
            self.resident.settle(raw)
        doubtful = outcome.doubtful if isinstance(outcome, outcomes.Failed) else ()
        keys = [key for key in draft.assumed if self.resident.uid_of(key) not in doubtful]
        self.resident.restore(keys)
        self.doubtful.update(doubtful)
        now = time.monotonic()
        match outcome:
            case outcomes.Written():
                self._drafter.forget(draft.item)
                if draft.item.what is What.POD:
                    self.counts.bound += 1
                    self.resident.pods.bound(draft.item.key)
                else:
                    self.counts.reserved += 1
                return
            case outcomes.Waiting(until=until):
                self.counts.waiting += 1
                left = (until - self._clock.now()).total_seconds()
                self.queue.park(
                    draft.item,
                    now=now,
                    tries=0,
                    pause_seconds=left,
                    reason="its devices are being bound to the node",
                )
                return
            case outcomes.Dropped():
                self.counts.dropped += 1
                self.queue.park(draft.item, now=now, tries=draft.tries, reason=outcome.reason)
            case outcomes.Refused():
                self.counts.refused += 1
                self.queue.park(
                    draft.item,
                    now=now,
                    tries=draft.tries,
                    pause_seconds=REFUSED_PAUSE_SECONDS,
                    reason=outcome.reason,
                )
            case outcomes.Failed(retry_after_seconds=seconds):
                self.counts.failed += 1
                self.queue.park(
                    draft.item,
                    now=now,
                    tries=draft.tries,
                    pause_seconds=seconds,
                    reason=outcome.reason,
                )
        log.info("plan not written", item=draft.item.key, reason=outcome.reason)
        if draft.plan.pod is not None:
            self.resident.board.let_pod_go(draft.plan.pod.uid)
