"""Who is to be tried again after what change."""

from collections.abc import Iterable
from typing import Final

from dra_console.allocator.api_json import object_of
from dra_console.allocator.errors import DecodeError
from dra_console.allocator.model import Json, JsonObject
from dra_console.kube.kinds import RESOURCE_CLAIMS, Kind
from dra_console.kube.listwatch import WatchEventType
from dra_console.scheduling.allocating.pending import key_in
from dra_console.scheduling.allocating.pod_claims import claim_names_of
from dra_console.scheduling.allocating.queueing import Item, Queue, What
from dra_console.scheduling.allocating.resident import Resident


class WaitingList:
    """The queue of one world, kept in line with it.

    A pod is tried again when one of its claims changes; so it is when it changes itself in
    what it asks for, and not when somebody writes down that it waits.
    """

    def __init__(self, resident: Resident) -> None:
        """Try all that waits."""
        self.resident: Final = resident
        self.queue: Final = Queue(Item(What.CLAIM, key) for key in resident.ahead)
        self._pods_with: Final[dict[str, set[str]]] = {}
        """Keys of waiting pods by the key of each of their claims."""

        self._asked: Final[dict[str, tuple[list[Json], frozenset[str]]]] = {}
        """What each waiting pod asks for, and the keys of its claims, by its key."""

        for pending in [*resident.pods.by_key.values()]:
            self._pod_seen(pending.key, pending.raw)

    def take(self, kind: Kind, happened: WatchEventType, raw: JsonObject) -> None:
        """Take what a watch of claims or pods says."""
        key = key_in(raw)
        is_gone = happened is WatchEventType.DELETED
        if kind == RESOURCE_CLAIMS:
            if is_gone:
                self.resident.remove_claim(key)
            elif not self.resident.put_claim(raw):
                return
            self.claim_changed(key)
            return
        if is_gone:
            self.resident.pods.remove(key)
        else:
            self.resident.pods.put(raw)
        self._pod_seen(key, raw)

    def take_all_claims(self, listed: Iterable[JsonObject]) -> None:
        """Take the claims of a cluster as a list has them, whatever was known before."""
        there = {key_in(raw): raw for raw in listed}
        for key in self.resident.claim_keys - there.keys():
            self.resident.remove_claim(key)
            self.claim_changed(key)
        for raw in there.values():
            self.take(RESOURCE_CLAIMS, WatchEventType.MODIFIED, raw)

    def claim_changed(self, key: str) -> None:
        """Try a claim again, or those who wait for it."""
        item = Item(What.CLAIM, key)
        if key in self.resident.ahead and not self.resident.is_assumed(key):
            self.queue.touch(item)
        else:
            self.queue.forget(item)
        for pod in self._pods_with.get(key, ()):
            self.queue.touch(Item(What.POD, pod))

    def _pod_seen(self, key: str, raw: JsonObject) -> None:
        item = Item(What.POD, key)
        before, claims = self._asked.pop(key, (None, frozenset()))
        for claim in claims:
            self._pods_with[claim].discard(key)
            if not self._pods_with[claim]:
                del self._pods_with[claim]
        if key not in self.resident.pods.by_key:
            self.queue.forget(item)
            return
        asks, claims = _asks_of(raw), _claims_of(raw)
        self._asked[key] = asks, claims
        for claim in claims:
            self._pods_with.setdefault(claim, set()).add(key)
        if asks != before:
            self.queue.touch(item)


def _asks_of(pod: JsonObject) -> list[Json]:
    """Return what of a pod decides where it can run, and with which claims."""
    metadata = object_of(pod.get("metadata"))
    status = object_of(pod.get("status"))
    return [
        metadata.get("uid"),
        metadata.get("annotations"),
        pod.get("spec"),
        status.get("resourceClaimStatuses"),
    ]


def _claims_of(pod: JsonObject) -> frozenset[str]:
    namespace = key_in(pod).partition("/")[0]
    try:
        names = claim_names_of(pod)
    except DecodeError:
        # It is tried, and told of, when its turn comes.
        return frozenset()
    return frozenset(f"{namespace}/{name}" for _, name in names if name)
