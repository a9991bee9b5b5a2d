"""Pods that wait for the console, object by object as a watch shows them."""

from typing import Final

from dra_console.allocator.model import JsonObject
from dra_console.scheduling.allocating.pending import Pending, key_in, pending_pod


class WaitingPods:
    """Those of one cluster; whoever was bound here waits no more, whatever is still seen of it."""

    def __init__(self) -> None:
        """Know of none."""
        self.by_key: Final[dict[str, Pending]] = {}
        self._bound: Final[dict[str, str]] = {}
        """UIDs of pods that were bound and have not been seen so since, by key."""

    def put(self, raw: JsonObject) -> None:
        """Take a pod as it was seen."""
        pending = pending_pod(raw)
        if pending is None:
            self.remove(key_in(raw))
        elif self._bound.get(pending.key) != pending.uid:
            self.by_key[pending.key] = pending

    def remove(self, key: str) -> None:
        """Forget a pod that is gone, or that does not wait."""
        self.by_key.pop(key, None)
        self._bound.pop(key, None)

    def bound(self, key: str) -> None:
        """Take note that a pod was bound."""
        pod = self.by_key.pop(key, None)
        if pod is not None:
            self._bound[key] = pod.uid
