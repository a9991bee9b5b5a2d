"""Keep the node's ResourceSlices as they should be, whoever changes or deletes them.

Kubelet deletes all slices of a node at each of its starts, and those of a driver that it has lost
for 30 s; upstream once published at start only and stayed without slices for ever. So one thread
follows the slices, another writes, and the follower's events, kubelet's registration and a new
offer set the alarm of the writer. Nothing is written periodically (node-agent.md 4.5, 4.8).
"""

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Final

import structlog

from nodeagent.devices.model import Inventory
from nodeagent.devices.taint import Taint
from nodeagent.fields import FieldError, Fields
from nodeagent.kube.errors import (
    ConflictError,
    ExpiredError,
    InvalidError,
    KubeError,
    NotFoundError,
)
from nodeagent.kube.resources import WatchEvent
from nodeagent.publish import counts
from nodeagent.publish.alarm import Alarm
from nodeagent.publish.api import SliceApi
from nodeagent.publish.back_off import BackOff
from nodeagent.publish.devices import WHOLE_GPU, Offer
from nodeagent.publish.seen import SeenSlices
from nodeagent.publish.sync import Sync

log = structlog.get_logger()

OFFER_SECONDS: Final = 0.3
"""Lets several changes of hardware and health become one write."""

SOON_SECONDS: Final = 0.2
EVENT_SECONDS: Final = 30
WATCH_SECONDS: Final = 300
LONGEST_RETRY_SECONDS: Final = 30
FOLLOW_RETRY_SECONDS: Final = 5


class Publisher:
    """One driver's slices of one node."""

    def __init__(  # noqa: PLR0913 - three names say whose slices these are
        self,
        api: SliceApi,
        *,
        driver: str,
        node_name: str,
        pool: str,
        shares: int = WHOLE_GPU,
        with_serials: bool = False,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._api = api
        self._shares = shares
        self._with_serials = with_serials
        self._monotonic = monotonic
        self._stopping = threading.Event()
        self._seen = SeenSlices(monotonic=monotonic)
        self._back_off = BackOff(LONGEST_RETRY_SECONDS)
        self._hold_until = 0.0
        self._offering = threading.Lock()
        self.alarm = Alarm(monotonic)
        self._sync = Sync(
            api=api,
            driver=driver,
            node_name=node_name,
            pool_name=pool,
            alarm=self.alarm,
            seen=self._seen,
            monotonic=monotonic,
        )

    def offer(
        self, inventory: Inventory, taints: Mapping[str, tuple[Taint, ...]] | None = None
    ) -> None:
        """Publish these devices from now on, with these taints by device.

        Without taints those of the last call stay. Safe from any thread, and never waits.
        """
        with self._offering:
            before = self._sync.offer
            if taints is None:
                taints = {} if before is None else before.taints
            offer = Offer(inventory, _in_order(taints), self._shares, self._with_serials)
            if offer == before:
                return
            self._sync.offer = offer
        self.alarm.ring_within(OFFER_SECONDS)

    def offer_taints(self, taints: Mapping[str, tuple[Taint, ...]]) -> None:
        """Publish the devices of the last offer with these taints; nothing before the first."""
        with self._offering:
            before = self._sync.offer
            if before is None or before.taints == _in_order(taints):
                return
            self._sync.offer = replace(before, taints=_in_order(taints))
        self.alarm.ring_within(OFFER_SECONDS)

    def check_now(self) -> None:
        """Look at the slices within a second: kubelet has registered us and may have wiped."""
        self.alarm.ring_within(SOON_SECONDS)

    def stop(self) -> None:
        """End both threads at their next turn. The slices stay: pods go on and need them."""
        self._stopping.set()
        self.alarm.close()

    def follow(self) -> None:
        """List and watch until stopped. Runs in a thread of its own."""
        back_off = BackOff(FOLLOW_RETRY_SECONDS)
        while not self._stopping.is_set():
            try:
                resource_version = self.list()
                self.alarm.ring_within(SOON_SECONDS)
                back_off.reset()
                self._watch_from(resource_version)
            except ExpiredError:
                continue
            except (KubeError, FieldError) as error:
                counts.note_failure(error)
                seconds = back_off.after(error)
                log.warning(
                    "slices not watched", reason=str(error), retry_seconds=round(seconds, 1)
                )
                self._stopping.wait(seconds)

    def write(self) -> None:
        """Sync whenever the alarm rings, until stopped. Runs in a thread of its own."""
        while self.alarm.wait():
            self.turn()

    def turn(self) -> None:
        """Look once, and plan when to look again if that failed."""
        held_seconds = self._hold_until - self._monotonic()
        if held_seconds > 0:
            self.alarm.ring_within(held_seconds)
            return
        try:
            self._sync.run()
            self._back_off.reset()
        except (KubeError, FieldError) as error:
            counts.note_failure(error)
            seconds = self._back_off.after(error)
            log.warning("slices not synced", reason=str(error), retry_seconds=round(seconds, 1))
            self._recover_from(error)
            self.alarm.ring_within(seconds)
            if not isinstance(error, InvalidError):
                # A new offer may please the validation; it does not mend a server.
                self._hold_until = self._monotonic() + seconds

    def list(self) -> str:
        """Look at all slices afresh; return the version from which to watch."""
        asked_at = self._monotonic()
        listed = self._api.slices()
        self._seen.replace(listed.items, asked_at=asked_at)
        return listed.resource_version

    def note(self, event: WatchEvent) -> None:
        """Take over one event of the watch, and plan when to look at what it means."""
        self._seen.apply(event)
        if event.type == "DELETED":
            self.alarm.ring_within(SOON_SECONDS)
        elif event.type != "BOOKMARK":
            self.alarm.ring_within(EVENT_SECONDS)

    def _watch_from(self, resource_version: str) -> None:
        while not self._stopping.is_set():
            events = self._api.watch_slices(
                resource_version=resource_version, window_seconds=WATCH_SECONDS
            )
            for event in events:
                metadata = Fields(event.object, "ResourceSlice").object("metadata")
                resource_version = metadata.text("resourceVersion")
                self.note(event)
                if self._stopping.is_set():
                    return

    def _recover_from(self, error: Exception) -> None:
        """Look afresh where what we saw was wrong."""
        if isinstance(error, NotFoundError):
            self._sync.forget_node()
        if not isinstance(error, ConflictError | NotFoundError):
            return
        try:
            self.list()
        except (KubeError, FieldError) as failure:
            log.warning("slices not read again", reason=str(failure))


def _in_order(taints: Mapping[str, Iterable[Taint]]) -> dict[str, tuple[Taint, ...]]:
    """Return taints so that equal ones are equal, in whatever order they were found."""
    return {device: tuple(sorted(set(found))) for device, found in taints.items()}
