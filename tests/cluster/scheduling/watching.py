"""The cluster as its API server tells it: every change, in its order, and what holds now.

One thread follows each kind. `until` looks again after every change, so that nothing waits
for a clock; listeners see each change before anybody else does.
"""

import contextlib
import http.client
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, TypeVar

from dra_console.allocator.api_json import JsonObject, object_of, objects_of
from dra_console.kube.kinds import Kind
from tests.cluster.chaos.http import Connection

PATIENCE_SECONDS: Final = 90
"""Long, since a busy machine is no finding."""

WINDOW_SECONDS: Final = 3600
HTTP_OK: Final = 200

Listener = Callable[[str, JsonObject], None]
Found = TypeVar("Found")


class Watching:
    """The newest state of all objects of some kinds, by UID."""

    def __init__(self, kubeconfig: Path, *kinds: Kind) -> None:
        self._kubeconfig = kubeconfig
        self._kinds = kinds
        self._changed = threading.Condition()
        self._now: dict[str, dict[str, JsonObject]] = {kind.plural: {} for kind in kinds}
        self._is_over = False
        self.listeners: dict[str, list[Listener]] = {kind.plural: [] for kind in kinds}
        """Called with `ADDED`, `MODIFIED` or `DELETED` and the object, in the kind's order."""

        self.errors: list[str] = []

    def start(self) -> None:
        """List each kind, then follow it until the process ends or the server goes away."""
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
        self._is_over = True

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
        with contextlib.suppress(OSError, http.client.HTTPException):
            for event in self._events(connection, kind, version):
                if self._is_over:
                    return
                self._take(kind.plural, str(event["type"]), object_of(event["object"]))

    @staticmethod
    def _events(connection: Connection, kind: Kind, version: str) -> Iterator[JsonObject]:
        return connection.follow(
            kind.path(None),
            watch="true",
            resourceVersion=version,
            timeoutSeconds=str(WINDOW_SECONDS),
        )

    def _take(self, plural: str, happened: str, one: JsonObject) -> None:
        if happened not in {"ADDED", "MODIFIED", "DELETED"}:
            self.errors.append(f"{plural}: {one}")
            return
        uid = str(object_of(one["metadata"])["uid"])
        with self._changed:
            if happened == "DELETED":
                self._now[plural].pop(uid, None)
            else:
                self._now[plural][uid] = one
            for listener in self.listeners[plural]:
                listener(happened, one)
            self._changed.notify_all()
