"""Ask two API servers the same and compare what they say, but for what must differ.

UIDs, versions, times and continue tokens are replaced by what kind of thing they are; the
wording of messages and `managedFields` are left out. What remains is compared whole.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from dra_console.allocator.model import Json, JsonObject
from dra_console.sync.comparison import first_difference
from tests.cluster.chaos.http import Connection

TIMES: Final = frozenset(
    {
        "creationTimestamp",
        "deletionTimestamp",
        "timeAdded",
        "lastHeartbeatTime",
        "lastTransitionTime",
    }
)
REPLACED: Final = {
    "uid": "a UID",
    "resourceVersion": "a version",
    "continue": "a token",
}
MAY_BE_EMPTY: Final = frozenset({"taints", "tolerations"})
"""Admission adds to these what becomes of pods on nodes that are not ready; the embedded
cluster has no controller that would ever call a node so."""

LEFT_OUT: Final = frozenset(
    {
        "managedFields",
        "message",
        "remainingItemCount",
        # Kubelets fill these, and nobody here reads them.
        "daemonEndpoints",
        "nodeInfo",
        "qosClass",
    }
)


@dataclass(frozen=True, slots=True)
class Ask:
    """One request. `{version:NAME}` and `{uid:NAME}` in path, query and body stand for those of
    the answer to the request of that name, and `{continue:NAME}` for its token."""

    name: str
    method: str
    path: str
    body: Json = None
    content_type: str = "application/json"
    query: Mapping[str, str] = field(default_factory=dict)
    is_watch: bool = False

    before: Callable[[], None] | None = None
    """Done to both servers, once, before they are asked."""


@dataclass(slots=True)
class Asked:
    """One server, and what it said so far."""

    connection: Connection
    versions: dict[str, str] = field(default_factory=dict)
    uids: dict[str, str] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)

    def answer(self, ask: Ask) -> JsonObject:
        """Ask, and return status and answer in comparable form."""
        query = {key: self._filled(value) for key, value in ask.query.items()}
        path = self._filled(ask.path)
        if ask.is_watch:
            status, lines = self.connection.stream(path, watch="true", **query)
            return {"status": status, "events": [_comparable(line) for line in lines]}
        body = self._filled_json(ask.body)
        status, said = self.connection.send(
            ask.method, path, body, content_type=ask.content_type, **query
        )
        metadata = said.get("metadata")
        if isinstance(metadata, dict):
            self.versions[ask.name] = str(metadata.get("resourceVersion", ""))
            self.uids[ask.name] = str(metadata.get("uid", ""))
            self.tokens[ask.name] = str(metadata.get("continue", ""))
        return {"status": status, "answer": _comparable(said)}

    def _filled(self, text: str) -> str:
        for word, known in (
            ("version", self.versions),
            ("uid", self.uids),
            ("continue", self.tokens),
        ):
            for name, value in known.items():
                text = text.replace(f"{{{word}:{name}}}", value)
        return text

    def _filled_json(self, value: Json) -> Json:
        match value:
            case str():
                return self._filled(value)
            case list():
                return [self._filled_json(each) for each in value]
            case dict():
                return {key: self._filled_json(each) for key, each in value.items()}
            case _:
                return value


def differences(
    asks: Iterable[Ask], ours: Connection, theirs: Connection
) -> Iterator[tuple[str, str]]:
    """Yield the name of each request whose two answers differ, and the first field that does."""
    one, another = Asked(ours), Asked(theirs)
    for ask in asks:
        if ask.before is not None:
            ask.before()
            ours.close()
            theirs.close()
        mine, real = one.answer(ask), another.answer(ask)
        if path := first_difference(mine, real):
            yield ask.name, f"{path}: {_at(mine, path)!r}, really {_at(real, path)!r}"


def _comparable(value: Json, key: str = "") -> Json:
    if isinstance(value, dict):
        kept = {inner: each for inner, each in value.items() if inner not in LEFT_OUT}
        compared = {inner: _comparable(each, inner) for inner, each in kept.items()}
        return {
            inner: each for inner, each in compared.items() if inner not in MAY_BE_EMPTY or each
        }
    if isinstance(value, list):
        return [_comparable(each) for each in value if not _is_of_a_nodes_health(each)]
    if isinstance(value, str) and value:
        return "a time" if key in TIMES else REPLACED.get(key, value)
    return value


def _is_of_a_nodes_health(entry: Json) -> bool:
    key = entry.get("key") if isinstance(entry, dict) else None
    return isinstance(key, str) and key.startswith("node.kubernetes.io/")


def _at(value: Json, path: str) -> Json:
    for step in path.replace("[", ".[").split("."):
        if step.startswith("[") and isinstance(value, list):
            value = value[int(step[1:-1])]
        elif isinstance(value, dict):
            value = value.get(step)
    return value if not isinstance(value, dict | list) else str(value)[:300]
