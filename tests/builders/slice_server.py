"""An API server's ResourceSlices in memory, with the feature gates and the moods of real ones.

It drops fields of features that are off unless the stored object uses them already, as the real
strategy does, refuses what does not fit its layout, dates taints, and tells of changes as a watch
does. `tests/cluster/test_slice_features.py` holds the same against the real server.
"""

import copy
import queue
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from nodeagent.fields import JsonObject
from nodeagent.kube.errors import ConflictError, InvalidError, KubeError, NotFoundError
from nodeagent.kube.resources import Listed, WatchEvent
from nodeagent.kube.server_version import ServerVersion
from nodeagent.publish.features import Feature, Layout, features_of

PATIENCE_SECONDS = 10


def _nothing(_spec: dict[str, Any]) -> str | None:
    return None


@dataclass
class Write:
    """One write that succeeded."""

    at: float
    operation: str
    name: str
    generation: int


@dataclass
class SliceServer:
    """Stores slices, numbers its writes, and tells of them. Implements `SliceApi`."""

    off: set[Feature] = field(default_factory=set)
    """Feature gates that are off."""

    layout: Layout | None = Layout.SPLIT
    """The layout of counters that validation takes; `None`: any."""

    git_version: str = "v1.37.2"
    refuses: Callable[[dict[str, Any]], str | None] = _nothing
    """Validation of a spec beside the layout: what is wrong with it."""

    refuses_dry_runs: KubeError | None = None
    alters: Callable[[dict[str, Any]], None] = lambda _spec: None
    """What an admission webhook does to a spec."""

    monotonic: Callable[[], float] = time.monotonic
    stored: dict[str, dict[str, Any]] = field(default_factory=dict)
    log: list[Write] = field(default_factory=list)
    tried: int = 0
    node_uid: str = "node-uid"
    hides_events: bool = False
    failures: list[KubeError] = field(default_factory=list)
    """Raised by the next writes, one each."""

    list_failures: list[KubeError] = field(default_factory=list)
    attempts: int = 0
    kube_events: list[JsonObject] = field(default_factory=list)
    rediscovered: int = 0
    changed: threading.Condition = field(default_factory=threading.Condition)
    observe: Callable[[], None] = lambda: None
    """Called after each change of what is stored."""

    _version: int = 0
    _events: "queue.SimpleQueue[WatchEvent | KubeError]" = field(default_factory=queue.SimpleQueue)

    def server_version(self) -> ServerVersion:
        return ServerVersion.of({"gitVersion": self.git_version})

    def rediscover(self) -> None:
        self.rediscovered += 1

    def node(self, name: str) -> JsonObject:
        return {"metadata": {"name": name, "uid": self.node_uid}}

    def create_event(self, event: JsonObject, *, namespace: str) -> None:
        assert namespace == "default"
        self.kube_events.append(event)

    def slices(self) -> Listed:
        with self.changed:
            if self.list_failures:
                raise self.list_failures.pop(0)
            return Listed(tuple(copy.deepcopy(list(self.stored.values()))), str(self._version))

    def watch_slices(self, *, resource_version: str, window_seconds: int) -> Iterator[WatchEvent]:
        assert resource_version
        assert window_seconds
        while True:
            event = self._events.get()
            if isinstance(event, KubeError):
                raise event
            yield event

    def new_events(self) -> Iterator[WatchEvent]:
        """Yield what a watch would show by now."""
        while not self._events.empty():
            event = self._events.get()
            assert isinstance(event, WatchEvent)
            yield event

    def break_watch(self, error: KubeError) -> None:
        self._events.put(error)

    def try_slice(self, slice_object: JsonObject) -> JsonObject:
        body: dict[str, Any] = copy.deepcopy(slice_object)
        with self.changed:
            self.tried += 1
            if self.refuses_dry_runs is not None:
                raise self.refuses_dry_runs
            self._admit(body["spec"], None)
        return body

    def create_slice(self, slice_object: JsonObject) -> JsonObject:
        body: dict[str, Any] = copy.deepcopy(slice_object)
        with self.changed:
            self._attempt()
            name = f"{body['metadata']['generateName'][:58]}{self._version:05}"
            body["metadata"] |= {"name": name, "uid": f"uid-{self._version}"}
            self._admit(body["spec"], None)
            return self._store(body, "create")

    def replace_slice(self, slice_object: JsonObject) -> JsonObject:
        body: dict[str, Any] = copy.deepcopy(slice_object)
        with self.changed:
            self._attempt()
            name = body["metadata"]["name"]
            self._check(name, body["metadata"]["resourceVersion"])
            self._admit(body["spec"], self.stored[name]["spec"])
            return self._store(body, "replace")

    def delete_slice(self, name: str, *, uid: str, resource_version: str) -> None:
        with self.changed:
            self._attempt()
            self._check(name, resource_version)
            assert self.stored[name]["metadata"]["uid"] == uid
            self._remove(name)

    def wipe(self) -> None:
        """Delete all, as kubelet does."""
        with self.changed:
            for name in list(self.stored):
                self._remove(name)

    def wait_until(self, holds: Callable[[], bool]) -> None:
        with self.changed:
            assert self.changed.wait_for(holds, PATIENCE_SECONDS)

    @property
    def writes(self) -> int:
        """Creations and replacements."""
        return sum(write.operation != "delete" for write in self.log)

    @property
    def generation(self) -> int:
        return max((one["spec"]["pool"]["generation"] for one in self.stored.values()), default=0)

    def is_whole(self) -> bool:
        """Whether consumers could use the pool."""
        pools = [one["spec"]["pool"] for one in self.stored.values()]
        newest = [pool for pool in pools if pool["generation"] == self.generation]
        return bool(newest) and newest[0]["resourceSliceCount"] == len(newest)

    def specs(self) -> list[dict[str, Any]]:
        return [self.stored[name]["spec"] for name in sorted(self.stored)]

    def devices(self) -> list[str]:
        return [device["name"] for device in self.full_devices()]

    def full_devices(self) -> list[dict[str, Any]]:
        return [device for spec in self.specs() for device in spec.get("devices", [])]

    def taints(self) -> dict[str, list[dict[str, Any]]]:
        return {
            device["name"]: device["taints"]
            for device in self.full_devices()
            if device.get("taints")
        }

    def put(self, body: dict[str, Any]) -> None:
        """Store something that somebody else has written."""
        with self.changed:
            self._store(body, "foreign")

    def _attempt(self) -> None:
        self.attempts += 1
        self.changed.notify_all()
        if self.failures:
            raise self.failures.pop(0)

    def _check(self, name: str, resource_version: str) -> None:
        if name not in self.stored:
            raise NotFoundError(404, name)
        if self.stored[name]["metadata"]["resourceVersion"] != resource_version:
            raise ConflictError(409, name)

    def _admit(self, spec: dict[str, Any], old: dict[str, Any] | None) -> None:
        self.alters(spec)
        kept = set(Feature) - self.off | (set(features_of(old)) if old is not None else set())
        _drop_all_but(spec, kept)
        has_both = bool(spec.get("sharedCounters")) and bool(spec.get("devices"))
        consumers = [one for one in spec.get("devices", []) if one.get("consumesCounters")]
        wrong = self.refuses(spec)
        if self.layout is Layout.SPLIT and has_both:
            wrong = "only one of sharedCounters or devices is allowed"
        if self.layout is Layout.MIXED and consumers and not has_both:
            wrong = "consumesCounters: the counter set is not in the slice"
        if wrong is not None:
            raise InvalidError(422, wrong)
        for device in spec.get("devices", []):
            for taint in device.get("taints", []):
                taint.setdefault("timeAdded", f"t{self._version}")

    def _store(self, body: dict[str, Any], operation: str) -> JsonObject:
        name = body["metadata"]["name"]
        event = "MODIFIED" if name in self.stored else "ADDED"
        self._version += 1
        body["metadata"]["resourceVersion"] = str(self._version)
        self.stored[name] = body
        generation = body["spec"]["pool"]["generation"]
        self.log.append(Write(self.monotonic(), operation, name, generation))
        self._tell(event, body)
        return copy.deepcopy(body)

    def _remove(self, name: str) -> None:
        self._version += 1
        body = self.stored.pop(name)
        body["metadata"]["resourceVersion"] = str(self._version)
        self.log.append(Write(self.monotonic(), "delete", name, 0))
        self._tell("DELETED", body)

    def _tell(self, event: str, body: dict[str, Any]) -> None:
        if not self.hides_events:
            self._events.put(WatchEvent(event, copy.deepcopy(body)))
        self.observe()
        self.changed.notify_all()


def _drop_all_but(spec: dict[str, Any], kept: set[Feature]) -> None:
    if Feature.COUNTERS not in kept:
        spec.pop("sharedCounters", None)
    for device in spec.get("devices", []):
        if Feature.COUNTERS not in kept:
            device.pop("consumesCounters", None)
        if Feature.TAINTS not in kept:
            device.pop("taints", None)
        if Feature.SHARES not in kept:
            device.pop("allowMultipleAllocations", None)
            for amount in device.get("capacity", {}).values():
                amount.pop("requestPolicy", None)
        is_informing = any(taint["effect"] == "None" for taint in device.get("taints", []))
        if Feature.INFORMING_TAINTS not in kept and is_informing:
            raise InvalidError(422, "taints: unsupported effect None")
        for name, value in device.get("attributes", {}).items():
            if Feature.LISTS not in kept and "ints" in value:
                raise InvalidError(422, f"attributes[{name}]: exactly one value is required")
