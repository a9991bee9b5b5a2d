"""One look at the node's slices, and the writes that make them right.

The order: learn what the server keeps, build what the node wants within that, compare, and write
if the pace allows it. Partitions wait until the server was seen to keep their counters, whole
GPUs do not wait for that; a device that is to be kept from claims is published only on a server
that keeps taints (node-agent.md 4.5 to 4.9). All calls but `offer` come from one thread.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

import structlog

from nodeagent.devices.model import Inventory
from nodeagent.fields import Fields, JsonObject
from nodeagent.kube.errors import InvalidError, StatusError
from nodeagent.publish import counts
from nodeagent.publish.alarm import Alarm
from nodeagent.publish.api import SliceApi
from nodeagent.publish.devices import Offer, feature_of
from nodeagent.publish.fallback import RETRY_SECONDS, Fallback
from nodeagent.publish.features import Feature, Shape, features_of
from nodeagent.publish.learning import BAD_REQUEST, Learning
from nodeagent.publish.pace import Pace, Urgency
from nodeagent.publish.plan import Pool, Writes, plan_writes
from nodeagent.publish.seen import SeenSlices
from nodeagent.publish.sending import Sender
from nodeagent.publish.slices import DesiredSlice, faults_of, slices_of

log = structlog.get_logger()

WATCH_LAG_SECONDS: Final = 1


@dataclass(frozen=True, slots=True)
class _Published:
    """What the server has taken as a whole."""

    offer: Offer
    shape: Shape | None
    slices: tuple[DesiredSlice, ...]


@dataclass(slots=True, kw_only=True)
class Sync:
    """One driver's slices of one node, as they are and as they should be."""

    api: SliceApi
    driver: str
    node_name: str
    pool_name: str
    alarm: Alarm
    seen: SeenSlices
    monotonic: Callable[[], float]
    offer: Offer | None = None
    """What to publish; nothing is written before it is set."""

    _learning: Learning = field(init=False)
    _fallback: Fallback = field(init=False)
    _pace: Pace = field(init=False)
    _sender: Sender = field(init=False)
    _published: _Published | None = field(default=None, init=False)
    _used: tuple[Inventory, frozenset[Feature]] | None = field(default=None, init=False)
    _built: tuple[Offer, Shape, tuple[DesiredSlice, ...] | None] | None = field(
        default=None, init=False
    )
    _is_resuming: bool = field(default=False, init=False)
    _node_uid: str | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._learning = Learning(self.api, node_name=self.node_name, monotonic=self.monotonic)
        self._fallback = Fallback(self.monotonic)
        self._pace = Pace(self.monotonic)
        self._sender = Sender(
            api=self.api, seen=self.seen, pace=self._pace, on_dropped=self._learning.dropped
        )

    def run(self) -> None:
        """Look once. What waits for a time sets the alarm.

        Raises:
            KubeError: the server refused or did not answer; look again later.
            FieldError: an answer lacks what every object has.

        """
        offer, stored = self.offer, self.seen.current()
        if offer is None or stored is None:
            return
        if self._learning.look():
            self._sender.alterations.forget()
        self.alarm.ring_within(self._learning.seconds_to_look)
        has_learnt = self._learn(offer, is_anything_published=bool(stored))
        shape = self._fallback.shape_for(
            offer.inventory,
            traits=self._learning.traits,
            accepts=lambda shape: self._is_acceptable(slices_of(offer, shape)),
        )
        counts.REFUSED.set(shape != self._learning.traits.shape)
        if shape != self._learning.traits.shape:
            self.alarm.ring_within(RETRY_SECONDS)
        desired = self._desired(offer, shape)
        if desired is not None:
            self._publish(_Published(offer, shape, desired), stored)
        self._doubt_own_writes()
        if not has_learnt and self._published is not None and self._published.offer is offer:
            self.alarm.ring_within(0)

    def forget_node(self) -> None:
        """Read the Node again before it is named as an owner."""
        self._node_uid = None

    def _doubt_own_writes(self) -> None:
        """Look again once the watch should have shown them: what it has not may be gone."""
        seconds = self.seen.seconds_to_doubt()
        if seconds is not None:
            self.alarm.ring_within(seconds + WATCH_LAG_SECONDS)

    def _learn(self, offer: Offer, *, is_anything_published: bool) -> bool:
        """Probe what the offer needs; tell whether all is known now."""
        unknown = self._learning.traits.unknown(self._features_used_by(offer))
        if not unknown:
            return True
        if Feature.COUNTERS in unknown and not is_anything_published:
            base = slices_of(offer, self._learning.traits.shape)
            if any(one.devices for one in base):
                # Whole GPUs first: they are of use before partitions are known to be safe.
                return False
        self._learning.probe(unknown, pool=self._pool())
        return True

    def _features_used_by(self, offer: Offer) -> frozenset[Feature]:
        if self._used is None or self._used[0] is not offer.inventory:
            # Taints come and go; what hardware needs is worth remembering.
            healthy = replace(offer, taints={})
            specs = [one.spec_members() for one in slices_of(healthy, Shape())]
            used = frozenset[Feature]().union(*(features_of(spec) for spec in specs))
            self._used = offer.inventory, used
        taints = (taint for of_device in offer.taints.values() for taint in of_device)
        return self._used[1].union(map(feature_of, taints))

    def _is_acceptable(self, slices: tuple[DesiredSlice, ...]) -> bool:
        try:
            for body in plan_writes(slices, (), pool=self._pool()).create:
                self.api.try_slice(body)
        except StatusError as error:
            if isinstance(error, InvalidError) or error.status == BAD_REQUEST:
                log.warning("shape not accepted", reason=str(error))
                return False
            raise
        return True

    def _desired(self, offer: Offer, shape: Shape | None) -> tuple[DesiredSlice, ...] | None:
        if shape is None:
            return None if self._published is None else self._published.slices
        if self._built is None or self._built[:2] != (offer, shape):
            slices = slices_of(offer, shape)
            faults = faults_of(slices)
            if faults:
                log.error("inventory not published", faults=faults)
            self._built = offer, shape, None if faults else slices
        return self._built[2]

    def _publish(self, wanted: _Published, stored: tuple[JsonObject, ...]) -> None:
        self._sender.look_at(stored, wanted=[one.spec_members() for one in wanted.slices])
        writes = self._plan(wanted.slices, stored)
        if writes != Writes():
            wait_seconds = self._pace.wait_seconds(self._urgency(wanted, writes))
            if wait_seconds > 0:
                self.alarm.ring_within(wait_seconds)
                return
            if not self._is_sent(writes, wanted):
                return
        self._is_resuming = False
        self._published = wanted
        self._fallback.published(wanted.shape, traits=self._learning.traits)
        counts.GENERATION.set(self._sender.generation)
        counts.DEVICES.set(sum(len(one.devices) for one in wanted.slices))

    def _plan(self, slices: tuple[DesiredSlice, ...], stored: tuple[JsonObject, ...]) -> Writes:
        def planned() -> Writes:
            return plan_writes(
                slices,
                stored,
                pool=self._pool(),
                after_generation=self._sender.generation,
                is_published=self._sender.alterations.is_published,
            )

        writes = planned()
        if writes.create:
            # With another UID than the Node's a slice would be garbage as soon as it is there.
            self._node_uid = None
            writes = planned()
        return writes

    def _urgency(self, wanted: _Published, writes: Writes) -> Urgency:
        before = self._published
        if before is None or self._is_resuming or writes.create or wanted.shape != before.shape:
            return Urgency.AT_ONCE
        if wanted.offer.taints != before.offer.taints:
            return Urgency.TAINTS
        return Urgency.ROUTINE

    def _is_sent(self, writes: Writes, wanted: _Published) -> bool:
        """Send; tell whether all is as sent. If not, the alarm rings at once."""
        self._is_resuming = True
        try:
            if self._sender.send(writes):
                return True
        except InvalidError as error:
            log.warning("slices refused", reason=str(error))
            counts.note_failure(error)
            self._fallback.refused(wanted.shape, inventory=wanted.offer.inventory)
            if wanted.shape is None:
                raise
        self.alarm.ring_within(0)
        return False

    def _pool(self) -> Pool:
        if self._node_uid is None:
            node = Fields(self.api.node(self.node_name), "Node")
            self._node_uid = node.object("metadata").text("uid")
        return Pool(
            driver=self.driver,
            node_name=self.node_name,
            node_uid=self._node_uid,
            name=self.pool_name,
        )
