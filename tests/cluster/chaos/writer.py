"""Do the plan's writes at an API server that comes and goes."""

import http.client
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from dra_console.allocator.model import JsonObject
from dra_console.kube.kinds import BY_PLURAL, Kind
from tests.cluster.chaos.bodies import (
    allocation,
    change,
    name_of,
    namespace_of,
    new_object,
    node_status,
    pod_status,
    reservation,
)
from tests.cluster.chaos.http import MERGE_PATCH, Connection
from tests.cluster.chaos.plan import Operation, Verb

PATIENCE_SECONDS: Final = 120
PAUSE_SECONDS: Final = 0.2
PASSING: Final = frozenset({429, 500, 502, 503, 504})
HARMLESS: Final = frozenset({404, 409})
"""A write that was repeated after the server had died with it done: there or gone already."""


@dataclass(slots=True)
class Outcome:
    """What became of the writes; shared by all threads."""

    statuses: Counter[int] = field(default_factory=Counter)
    refusals: list[str] = field(default_factory=list)
    """Writes that the API server found wrong; there should be none."""

    done: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, operation: Operation, status: int, answer: JsonObject) -> None:
        with self._lock:
            self.done += 1
            self.statuses[status] += 1
            if status >= http.client.BAD_REQUEST and status not in HARMLESS:
                self.refusals.append(f"{operation}: {status} {answer.get('message')}")


class Writer:
    """Does the operations of one thread of a plan."""

    def __init__(self, kubeconfig: Path, outcome: Outcome) -> None:
        self._connection = Connection(kubeconfig)
        self._outcome = outcome
        self._pod_uids: dict[int, str] = {}
        self._bound: set[int] = set()
        self._held: dict[int, str] = {}
        """Claims that are allocated or reserved."""

    def run(self, operations: Iterable[Operation], *, before_each: Callable[[], None]) -> None:
        for operation in operations:
            before_each()
            status, answer = self._do(operation)
            self._outcome.add(operation, status, answer)
        self._connection.close()

    def _do(self, operation: Operation) -> tuple[int, JsonObject]:
        dice, number, plural = random.Random(operation.dice), operation.number, operation.plural
        kind = BY_PLURAL[plural]
        match operation.verb:
            case Verb.CREATE:
                return self._create(kind, number, dice)
            case Verb.CHANGE:
                return self._patch(kind, number, change(plural, number, dice))
            case Verb.ADVANCE:
                return self._advance(kind, number, dice)
            case Verb.DELETE:
                self._pod_uids.pop(number, None) if plural == "pods" else None
                now: JsonObject = {"gracePeriodSeconds": 0, "propagationPolicy": "Background"}
                return self._send("DELETE", _path(kind, number), now)
            case Verb.LET_GO if plural == "namespaces":
                body: JsonObject = {
                    "apiVersion": "v1",
                    "kind": "Namespace",
                    "metadata": {"name": name_of(plural, number)},
                    "spec": {"finalizers": []},
                }
                return self._send("PUT", _path(kind, number, "finalize"), body)
            case _:
                return self._patch(kind, number, {"metadata": {"finalizers": None}})

    def _create(self, kind: Kind, number: int, dice: random.Random) -> tuple[int, JsonObject]:
        uid = self._pod_uids.get(number, "")
        body = new_object(kind.plural, number, dice, pod_uid=uid if dice.random() < 0.8 else "")
        status, answer = self._send("POST", kind.path(_namespace(kind, number)), body)
        if kind.plural == "pods":
            self._bound.discard(number)
            metadata = answer.get("metadata")
            if status == http.client.CREATED and isinstance(metadata, dict):
                self._pod_uids[number] = str(metadata["uid"])
        if kind.plural == "resourceclaims":
            self._held.pop(number, None)
        return status, answer

    def _advance(self, kind: Kind, number: int, dice: random.Random) -> tuple[int, JsonObject]:
        match kind.plural:
            case "nodes":
                return self._patch(kind, number, node_status(dice), "status")
            case "pods" if number not in self._bound and dice.random() < 0.5:
                return self._bind(kind, number, dice)
            case "pods":
                return self._patch(kind, number, pod_status(number, dice), "status")
        state = self._held.get(number, "")
        if not state:
            patch, state = allocation(number, dice), "allocated"
        elif state == "allocated" and dice.random() < 0.6:
            patch, state = reservation(number, dice), "reserved"
        else:
            patch, state = {"status": {"allocation": None, "reservedFor": None}}, ""
        self._held[number] = state
        return self._patch(kind, number, patch, "status")

    def _bind(self, kind: Kind, number: int, dice: random.Random) -> tuple[int, JsonObject]:
        self._bound.add(number)
        body: JsonObject = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": name_of("pods", number), "namespace": namespace_of(number)},
            "target": {"apiVersion": "v1", "kind": "Node", "name": f"node-{dice.randrange(30)}"},
        }
        return self._send("POST", _path(kind, number, "binding"), body)

    def _patch(
        self, kind: Kind, number: int, patch: JsonObject, part: str | None = None
    ) -> tuple[int, JsonObject]:
        return self._send("PATCH", _path(kind, number, part), patch, content_type=MERGE_PATCH)

    def _send(
        self, method: str, path: str, body: JsonObject, *, content_type: str = "application/json"
    ) -> tuple[int, JsonObject]:
        """Send until the server says yes or no; it may be away for a while."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                status, answer = self._connection.send(
                    method, path, body, content_type=content_type
                )
                if status not in PASSING or time.monotonic() > deadline:
                    return status, answer
            except (OSError, http.client.HTTPException):
                if time.monotonic() > deadline:
                    raise
            time.sleep(PAUSE_SECONDS)


def _namespace(kind: Kind, number: int) -> str | None:
    return namespace_of(number) if kind.namespaced else None


def _path(kind: Kind, number: int, part: str | None = None) -> str:
    return kind.path(_namespace(kind, number), name_of(kind.plural, number), part)
