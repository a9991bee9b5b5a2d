"""What must be true at every moment of a round, checked on the API server's whole history."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import orjson
import urllib3

from dra_console.kube.kinds import PODS, RESOURCE_CLAIMS, Kind
from tests.builders.objects import NAMESPACE

FINALIZER: Final = "resource.kubernetes.io/delete-protection"


def changes_since(
    url: str, version: int, *, pods: Sequence[Any], claims: Sequence[Any]
) -> list[tuple[int, Kind, str, Any]]:
    """Return the writes of pods and claims from a version up to these, in their order."""
    found = []
    for kind, now in ((PODS, pods), (RESOURCE_CLAIMS, claims)):
        until = max((int(each["metadata"]["resourceVersion"]) for each in now), default=0)
        found += list(_changes_of(url, kind, version, until))
    return sorted(found, key=lambda change: change[0])


def _changes_of(
    url: str, kind: Kind, version: int, until: int
) -> Iterator[tuple[int, Kind, str, Any]]:
    if version >= until:
        return
    query = f"watch=true&resourceVersion={version}&timeoutSeconds=1&allowWatchBookmarks=true"
    answer = urllib3.request(
        "GET", f"{url}{kind.path(NAMESPACE)}?{query}", preload_content=False, retries=False
    )
    buffered = b""
    try:
        for piece in answer.stream(65536):
            *lines, buffered = (buffered + piece).split(b"\n")
            for line in lines:
                event = orjson.loads(line)
                at = int(event["object"]["metadata"]["resourceVersion"])
                if event["type"] != "BOOKMARK":
                    yield at, kind, event["type"], event["object"]
                if at >= until:
                    return
    finally:
        answer.close()


@dataclass(slots=True)
class Watcher:
    """Follows the history and notes what must not be."""

    violations: list[str] = field(default_factory=list)
    _claims: dict[str, Any] = field(default_factory=dict)
    _bound: dict[str, Any] = field(default_factory=dict)

    def see(self, at: int, kind: Kind, event: str, obj: Any) -> None:
        known = self._bound if kind == PODS else self._claims
        name = obj["metadata"]["name"]
        known.pop(name, None)
        if event != "DELETED" and (kind != PODS or obj["spec"].get("nodeName")):
            known[name] = obj
        self._check(at)

    def _check(self, at: int) -> None:
        held = Counter(device for claim in self._claims.values() for device in devices_of(claim))
        for device, count in held.items():
            if count > 1:
                self.violations.append(f"at {at}: {device} is in {count} claims")
        for claim in self._claims.values():
            status = claim.get("status", {})
            if status.get("allocation") and FINALIZER not in claim["metadata"].get(
                "finalizers", []
            ):
                self.violations.append(f"at {at}: {claim['metadata']['name']} is unprotected")
        for name, pod in self._bound.items():
            for claim_name in claims_of(pod):
                reason = _not_whole(self._claims.get(claim_name), pod)
                if reason:
                    self.violations.append(f"at {at}: {name} is bound and {claim_name} {reason}")


def _not_whole(claim: Any, pod: Any) -> str:
    if claim is None:
        return "is gone"
    status = claim.get("status", {})
    if "allocation" not in status:
        return "has no devices"
    if pod["metadata"]["uid"] not in {each["uid"] for each in status.get("reservedFor", [])}:
        return "is not reserved for it"
    if any(pool != pod["spec"]["nodeName"] for _, pool, _ in devices_of(claim)):
        return "has devices of another node"
    return ""


def results_of(claim: Any) -> list[Any]:
    """Return what the claim holds, as `status.allocation.devices.results` has it."""
    allocation = claim.get("status", {}).get("allocation") or {}
    return list(allocation.get("devices", {}).get("results", []))


def devices_of(claim: Any) -> list[tuple[str, str, str]]:
    """Return driver, pool and device of each that the claim holds."""
    return [(each["driver"], each["pool"], each["device"]) for each in results_of(claim)]


def claims_of(pod: Any) -> list[str]:
    """Return the names of the claims that a pod uses."""
    return [each["resourceClaimName"] for each in pod["spec"].get("resourceClaims", [])]
