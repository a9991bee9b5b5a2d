"""This driver's slices of this node, as the watch shows them and as we have just written them.

A watch lags behind one's own writes. Until it has caught up, or for a minute, what a write
answered counts, so that no slice is created twice (node-agent.md 4.5, "mutation cache").
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from nodeagent.fields import Fields, JsonObject
from nodeagent.kube.resources import WatchEvent

OWN_WRITE_SECONDS: Final = 60
SHOWN_VERSIONS: Final = 256
"""The watch may show a write before its answer arrives, and what others made of it as well."""


@dataclass(frozen=True, slots=True)
class _Written:
    slice_object: JsonObject
    at: float


class SeenSlices:
    """The present view. Safe between the watching and the writing thread."""

    def __init__(self, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._watched: dict[str, JsonObject] | None = None
        self._written: dict[str, _Written] = {}
        self._shown: deque[str] = deque(maxlen=SHOWN_VERSIONS)

    def replace(self, listed: Iterable[JsonObject], *, asked_at: float) -> None:
        """Take over a list that was asked for at that time; earlier own writes are in it."""
        with self._lock:
            self._watched = {_name(slice_object): slice_object for slice_object in listed}
            self._keep_written_since(asked_at)

    def apply(self, event: WatchEvent) -> None:
        """Take over one event of the watch that follows the list."""
        if event.type == "BOOKMARK":
            return
        name = _name(event.object)
        with self._lock:
            if self._watched is None:
                return
            self._shown.append(_version(event.object))
            written = self._written.get(name)
            if event.type == "DELETED":
                self._watched.pop(name, None)
                self._written.pop(name, None)
                return
            self._watched[name] = event.object
            if written and _version(written.slice_object) == _version(event.object):
                del self._written[name]

    def wrote(self, slice_object: JsonObject) -> None:
        """Remember what the server answered to a creation or a replacement."""
        now = self._monotonic()
        with self._lock:
            if _version(slice_object) in self._shown:
                return
            self._written[_name(slice_object)] = _Written(slice_object, now)

    def removed(self, name: str) -> None:
        """Remember a deletion that the server has confirmed."""
        with self._lock:
            self._written.pop(name, None)
            if self._watched is not None:
                self._watched.pop(name, None)

    def current(self) -> tuple[JsonObject, ...] | None:
        """Return the slices; `None` before the first list."""
        now = self._monotonic()
        with self._lock:
            if self._watched is None:
                return None
            self._keep_written_since(now - OWN_WRITE_SECONDS)
            own = {name: written.slice_object for name, written in self._written.items()}
            return tuple({**self._watched, **own}.values())

    def seconds_to_doubt(self) -> float | None:
        """Return when the first own write that no watch has shown stops to count, from now on."""
        with self._lock:
            if not self._written:
                return None
            first = min(written.at for written in self._written.values())
            return max(0.0, first + OWN_WRITE_SECONDS - self._monotonic())

    def _keep_written_since(self, moment: float) -> None:
        self._written = {
            name: written for name, written in self._written.items() if written.at >= moment
        }


def _name(slice_object: JsonObject) -> str:
    return Fields(slice_object, "ResourceSlice").object("metadata").text("name")


def _version(slice_object: JsonObject) -> str:
    return Fields(slice_object, "ResourceSlice").object("metadata").text("resourceVersion")
