"""Keep the node's ResourceSlices as they should be, whoever changes or deletes them.

Kubelet deletes all slices of a node at each of its starts, and those of a driver that it has lost
for 30 s; upstream once published at start only and stayed without slices for ever. So one thread
follows the slices, another writes, and the follower's events, kubelet's registration and a new
inventory set the alarm of the writer. Nothing is written periodically (node-agent.md 4.5, 4.8).
"""

import threading
import time
from collections.abc import Iterator
from typing import Final, Protocol

import structlog

from nodeagent.devices.model import Inventory
from nodeagent.fields import FieldError, Fields, JsonObject
from nodeagent.kube.errors import (
    ConflictError,
    ExpiredError,
    KubeError,
    NotFoundError,
)
from nodeagent.kube.resources import Listed, WatchEvent
from nodeagent.publish.alarm import Alarm
from nodeagent.publish.back_off import BackOff
from nodeagent.publish.plan import Pool, Writes, lost_counters, plan_writes
from nodeagent.publish.seen import OWN_WRITE_SECONDS, SeenSlices
from nodeagent.publish.slices import faults_of, slices_of

log = structlog.get_logger()

INVENTORY_SECONDS: Final = 0.3
"""Lets several changes of the hardware become one write."""

SOON_SECONDS: Final = 0.2
EVENT_SECONDS: Final = 30
WATCH_SECONDS: Final = 300
LONGEST_RETRY_SECONDS: Final = 30
FOLLOW_RETRY_SECONDS: Final = 5


class SliceApi(Protocol):
    """An API server's slices of this driver and node; `Resources` is one."""

    def node(self, name: str) -> JsonObject:
        """Read a Node."""
        ...

    def slices(self) -> Listed:
        """List the slices."""
        ...

    def watch_slices(self, *, resource_version: str, window_seconds: int) -> Iterator[WatchEvent]:
        """Follow them."""
        ...

    def create_slice(self, slice_object: JsonObject) -> JsonObject:
        """Create one and return it as stored."""
        ...

    def replace_slice(self, slice_object: JsonObject) -> JsonObject:
        """Overwrite one and return it as stored."""
        ...

    def delete_slice(self, name: str, *, uid: str, resource_version: str) -> None:
        """Delete exactly the one that was seen."""
        ...


class Publisher:
    """One driver's slices of one node."""

    def __init__(self, resources: SliceApi, *, driver: str, node_name: str, pool: str) -> None:
        self._resources = resources
        self._driver = driver
        self._node_name = node_name
        self._pool_name = pool
        self._alarm = Alarm()
        self._stopping = threading.Event()
        self._seen = SeenSlices()
        self._inventory: Inventory | None = None
        self._known_invalid: tuple[str, ...] = ()
        self._with_partitions = True
        self._node_uid: str | None = None

    def offer(self, inventory: Inventory) -> None:
        """Publish these devices from now on."""
        self._inventory = inventory
        self._alarm.ring_within(INVENTORY_SECONDS)

    def check_now(self) -> None:
        """Look at the slices within a second: kubelet has registered us and may have wiped."""
        self._alarm.ring_within(SOON_SECONDS)

    def stop(self) -> None:
        """End both threads at their next turn. The slices stay: pods go on and need them."""
        self._stopping.set()
        self._alarm.close()

    def follow(self) -> None:
        """List and watch until stopped. Runs in a thread of its own."""
        back_off = BackOff(FOLLOW_RETRY_SECONDS)
        while not self._stopping.is_set():
            try:
                resource_version = self._list()
                self._alarm.ring_within(SOON_SECONDS)
                back_off.reset()
                self._watch_from(resource_version)
            except ExpiredError:
                continue
            except (KubeError, FieldError) as error:
                seconds = back_off.after(error)
                log.warning(
                    "slices not watched", reason=str(error), retry_seconds=round(seconds, 1)
                )
                self._stopping.wait(seconds)

    def write(self) -> None:
        """Sync whenever the alarm rings, until stopped. Runs in a thread of its own."""
        back_off = BackOff(LONGEST_RETRY_SECONDS)
        while self._alarm.wait():
            try:
                self._sync()
                back_off.reset()
            except (KubeError, FieldError) as error:
                seconds = back_off.after(error)
                log.warning("slices not synced", reason=str(error), retry_seconds=round(seconds, 1))
                self._recover_from(error)
                self._alarm.ring_within(seconds)

    def _watch_from(self, resource_version: str) -> None:
        while not self._stopping.is_set():
            events = self._resources.watch_slices(
                resource_version=resource_version, window_seconds=WATCH_SECONDS
            )
            for event in events:
                metadata = Fields(event.object, "ResourceSlice").object("metadata")
                resource_version = metadata.text("resourceVersion")
                self._seen.apply(event)
                if event.type == "DELETED":
                    self._alarm.ring_within(SOON_SECONDS)
                elif event.type != "BOOKMARK":
                    self._alarm.ring_within(EVENT_SECONDS)
                if self._stopping.is_set():
                    return

    def _sync(self) -> None:
        inventory = self._inventory
        stored = self._seen.current()
        if inventory is None or stored is None:
            return
        desired = slices_of(inventory, with_partitions=self._with_partitions)
        faults = faults_of(desired)
        if faults:
            if faults != self._known_invalid:
                log.error("inventory not published", faults=faults)
            self._known_invalid = faults
            return
        writes = plan_writes(desired, stored, pool=self._pool())
        if writes != Writes():
            self._send(writes)

    def _send(self, writes: Writes) -> None:
        for slice_object in writes.delete:
            self._delete(slice_object)
        for body, send in (
            *((body, self._resources.replace_slice) for body in writes.replace),
            *((body, self._resources.create_slice) for body in writes.create),
        ):
            stored = send(body)
            self._seen.wrote(stored)
            if self._with_partitions and lost_counters(body, stored):
                # Overlapping partitions without counters would be given out twice.
                log.error("partitions withdrawn", reason="the API server drops shared counters")
                self._with_partitions = False
                self._alarm.ring_within(0)
                return
        if writes.create:
            # By then the watch has shown them, or somebody has deleted them unseen.
            self._alarm.ring_within(OWN_WRITE_SECONDS + 1)
        log.info(
            "slices published",
            deleted=len(writes.delete),
            replaced=len(writes.replace),
            created=len(writes.create),
        )

    def _delete(self, slice_object: JsonObject) -> None:
        metadata = Fields(slice_object, "ResourceSlice").object("metadata")
        name = metadata.text("name")
        try:
            self._resources.delete_slice(
                name,
                uid=metadata.text("uid"),
                resource_version=metadata.text("resourceVersion"),
            )
        except NotFoundError:
            log.debug("slice was gone already", slice=name)
        self._seen.removed(name)

    def _recover_from(self, error: Exception) -> None:
        """Look afresh where what we saw was wrong."""
        if isinstance(error, NotFoundError):
            self._node_uid = None
        if not isinstance(error, ConflictError | NotFoundError):
            return
        try:
            self._list()
        except (KubeError, FieldError) as failure:
            log.warning("slices not read again", reason=str(failure))

    def _list(self) -> str:
        asked_at = time.monotonic()
        listed = self._resources.slices()
        self._seen.replace(listed.items, asked_at=asked_at)
        return listed.resource_version

    def _pool(self) -> Pool:
        if self._node_uid is None:
            node = Fields(self._resources.node(self._node_name), "Node")
            self._node_uid = node.object("metadata").text("uid")
        return Pool(
            driver=self._driver,
            node_name=self._node_name,
            node_uid=self._node_uid,
            name=self._pool_name,
        )
