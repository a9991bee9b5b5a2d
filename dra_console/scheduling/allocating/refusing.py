"""Let those wait who were tried in vain, and say why on their objects, once for each reason."""

import time
from dataclasses import dataclass, field

import structlog

from dra_console.kube.client import Client
from dra_console.scheduling.allocating.counts import Counts
from dra_console.scheduling.allocating.pending import Pending
from dra_console.scheduling.allocating.queueing import REFUSED_PAUSE_SECONDS, Item, Queue, What
from dra_console.scheduling.allocating.resident import Resident
from dra_console.scheduling.writing import pod_events, remarks

log = structlog.get_logger()


@dataclass(slots=True)
class Refuser:
    """Puts the items of one world's queue aside."""

    client: Client
    resident: Resident
    queue: Queue
    counts: Counts
    _said: dict[Item, str] = field(default_factory=dict)

    def pending(self, item: Item) -> Pending | None:
        """Return what waits, as it was seen last."""
        known = self.resident.pods.by_key if item.what is What.POD else self.resident.claims
        return known.get(item.key)

    def forget(self, item: Item) -> None:
        """Say anew why it waits, should it ever wait again."""
        self._said.pop(item, None)

    def not_placed(self, item: Item, tries: int, reason: str) -> None:
        """Say why, and let it wait for what could change that."""
        self._say(item, reason)
        # A class that does not exist, or a device that breaks a selector, may change as well.
        self.queue.park(
            item, now=time.monotonic(), tries=tries, gains=self.resident.gains, reason=reason
        )

    def refuse(self, item: Item, tries: int, reason: str) -> None:
        """Let wait what only another version of it would change; it is told of that."""
        self._say(item, reason)
        self._park(item, tries, reason)

    def park(self, item: Item, tries: int, reason: str) -> None:
        """Let wait what a change of a claim or pod brings back."""
        log.info("waits", item=item.key, reason=reason)
        self._park(item, tries, reason)

    def _park(self, item: Item, tries: int, reason: str) -> None:
        self.queue.park(
            item,
            now=time.monotonic(),
            tries=tries,
            pause_seconds=REFUSED_PAUSE_SECONDS,
            reason=reason,
        )

    def _say(self, item: Item, reason: str) -> None:
        """Tell users once why a pod or claim waits, until the reason is another one."""
        self.counts.refused += 1
        pending = self.pending(item)
        if pending is None or self._said.get(item) == reason:
            return
        self._said[item] = reason
        if item.what is What.CLAIM:
            pod_events.failed_allocation(self.client, pending.raw, reason)
            return
        namespace, _, name = pending.key.partition("/")
        pod_events.failed_scheduling(
            self.client, remarks.pod_named(namespace, name, pending.uid), reason
        )
