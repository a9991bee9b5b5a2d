"""The cluster as its API server tells it: every change, in its order, and what holds now.

One thread follows each kind. `until` looks again after every change, so that nothing waits
for a clock; listeners see each change before anybody else does.
"""

import contextlib
import http.client
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

from dra_console.allocator.api_json import JsonObject, object_of, objects_of
from dra_console.kube.kinds import Kind
from tests.cluster.chaos.http import Connection

PATIENCE_SECONDS: Final = 90
"""Long, since a busy machine is no finding."""

HTTP_OK: Final = 200

PAUSE_SECONDS: Final = 0.1
"""Before a watch is opened, also the first time; a server that is gone is not asked in a rush."""

Listener = Callable[[str, JsonObject], None]
Found = TypeVar("Found")


class Watching:
    """The newest state of all objects of some kinds, by UID."""

    def __init__(self, kubeconfig: Path, *kinds: Kind) -> None:
        self._kubeconfig = kubeconfig
        self._kinds = kinds
        self._changed = threading.Condition()
        self._now: dict[str, dict[str, JsonObject]] = {kind.plural: {} for kind in kinds}
        self._over = threading.Event()
        self.listeners: dict[str, list[Listener]] = {kind.plural: [] for kind in kinds}
        """Called with `ADDED`, `MODIFIED` or `DELETED` and the object, in the kind's order."""

    def start(self) -> None:
        """List each kind, then follow it until told to stop."""
        for kind in self._kinds:
            connection = Connection(self._kubeconfig)
            status, answer = connection.send("GET", kind.path(None))
            assert status == HTTP_OK, answer
            for each in objects_of(answer.get("items")):
                self._take(kind.plural, "ADDED", each)
            connection.close()
            version = str(object_of(answer["metadata"])["resourceVersion"])
            threading.Thread(
                target=self._follow, args=(connection, kind, version), daemon=True
            ).start()

    def stop(self) -> None:
        """Take no further notice."""
        self._over.set()

    def all(self, kind: Kind) -> list[JsonObject]:
        """List what is there now."""
        with self._changed:
            return list(self._now[kind.plural].values())

    def of(self, kind: Kind, uid: str) -> JsonObject | None:
        """Return one object as it is now."""
        with self._changed:
            return self._now[kind.plural].get(uid)

    def until(self, look: Callable[[], Found], *, seconds: float = PATIENCE_SECONDS) -> Found:
        """Look after each change until something is found, and return it."""
        deadline = time.monotonic() + seconds
        with self._changed:
            while not (found := look()):
                left = deadline - time.monotonic()
                assert left > 0, f"not within {seconds} s; last seen: {found!r}"
                self._changed.wait(min(left, 1.0))
        return found

    def _follow(self, connection: Connection, kind: Kind, version: str) -> None:
        while not self._over.wait(PAUSE_SECONDS):
            # Where nothing happens for a minute the connection ends; one goes on from there.
            with contextlib.suppress(OSError, http.client.HTTPException):
                for event in connection.follow(
                    kind.path(None), watch="true", resourceVersion=version
                ):
                    if self._over.is_set():
                        return
                    one = object_of(event["object"])
                    self._take(kind.plural, str(event["type"]), one)
                    version = str(object_of(one["metadata"])["resourceVersion"])

    def _take(self, plural: str, happened: str, one: JsonObject) -> None:
        assert happened in {"ADDED", "MODIFIED", "DELETED"}, one
        uid = str(object_of(one["metadata"])["uid"])
        with self._changed:
            if happened == "DELETED":
                self._now[plural].pop(uid, None)
            else:
                self._now[plural][uid] = one
            for listener in self.listeners[plural]:
                listener(happened, one)
            self._changed.notify_all()
