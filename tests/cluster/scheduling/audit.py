"""What one user asked of an API server, and what it answered: from the server's audit log."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dra_console.allocator.api_json import JsonObject, object_of

POLICY: Final = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived", "ResponseStarted"],
    "rules": [{"level": "Metadata"}],
}
WRITES: Final = frozenset({"create", "update", "patch", "delete", "deletecollection"})


@dataclass(frozen=True, slots=True)
class Audit:
    """The log of one server, which writes it as it answers."""

    folder: Path

    def flags(self) -> tuple[str, ...]:
        """Write the policy; return what the server is to be started with."""
        policy = self.folder / "audit-policy.json"
        policy.write_text(json.dumps(POLICY))
        return (f"--audit-policy-file={policy}", f"--audit-log-path={self._log}")

    def writes_of(self, username: str) -> Counter[tuple[str, str, int]]:
        """Count the user's writes: verb, resource with subresource, HTTP status."""
        return Counter(
            (str(event["verb"]), _resource(event), _status(event))
            for event in self._events()
            if object_of(event["user"])["username"] == username and event["verb"] in WRITES
        )

    def refusals_of(self, username: str) -> list[str]:
        """List what the user asked and did not get, with the server's words."""
        return [
            f"{event['verb']} {event['requestURI']}: {_status(event)} "
            f"{object_of(event['responseStatus']).get('message', '')}"
            for event in self._events()
            if object_of(event["user"])["username"] == username and _status(event) >= 400
        ]

    @property
    def _log(self) -> Path:
        return self.folder / "audit.log"

    def _events(self) -> Iterator[JsonObject]:
        for line in self._log.read_text().splitlines():
            yield json.loads(line)


def _status(event: JsonObject) -> int:
    return int(str(object_of(event.get("responseStatus")).get("code", 0)))


def _resource(event: JsonObject) -> str:
    named = object_of(event.get("objectRef"))
    return "/".join(str(named[key]) for key in ("resource", "subresource") if named.get(key))
