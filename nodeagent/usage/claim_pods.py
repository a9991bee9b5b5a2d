"""Which pods may use a claim: those that its status reserves it for, asked for as seldom as can be.

The answer stays right while the pods stay: it is asked for again only when somebody looks for a
pod that is not in it, and then at most once a minute. So a node at rest asks for nothing.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Protocol

from nodeagent.claims.entry import Entry
from nodeagent.fields import FieldError, Fields, JsonObject
from nodeagent.kube.errors import KubeError, NotFoundError, NotServedError

AGAIN_SECONDS: Final = 60.0


class ClaimReader(Protocol):
    """Reads claims; `nodeagent.kube.resources.Resources` is one."""

    def claim(self, namespace: str, name: str) -> JsonObject:
        """Return a ResourceClaim."""
        ...


@dataclass(slots=True)
class ClaimPods:
    """Remembers the pods of claims by the claims' UIDs."""

    reader: ClaimReader
    monotonic: Callable[[], float] = time.monotonic
    _known: dict[str, tuple[float, frozenset[str] | None]] = field(default_factory=dict)

    def of(self, entry: Entry) -> frozenset[str] | None:
        """Return the UIDs of a claim's pods as last read; `None`: nobody knows."""
        asked_at, pods = self._known.get(entry.uid, (None, None))
        if asked_at is None or (pods is None and self._is_old(asked_at)):
            return self._ask(entry)
        return pods

    def has(self, entry: Entry, pod_uid: str) -> bool | None:
        """Tell whether a pod may use a claim; `None`: nobody knows."""
        pods = self.of(entry)
        if pods is not None and pod_uid not in pods and self._is_old(self._known[entry.uid][0]):
            pods = self._ask(entry)
        return None if pods is None else pod_uid in pods

    def keep_only(self, claim_uids: frozenset[str]) -> None:
        """Forget claims that are not on the node any more."""
        self._known = {uid: known for uid, known in self._known.items() if uid in claim_uids}

    def _is_old(self, asked_at: float) -> bool:
        return self.monotonic() - asked_at >= AGAIN_SECONDS

    def _ask(self, entry: Entry) -> frozenset[str] | None:
        pods: frozenset[str] | None = None
        try:
            if entry.name:
                pods = _pods_of(self.reader.claim(entry.namespace, entry.name), entry.uid)
        except NotServedError:
            pods = None
        except NotFoundError:
            pods = frozenset()
        except (KubeError, FieldError):
            pods = None
        self._known[entry.uid] = (self.monotonic(), pods)
        return pods


def _pods_of(claim: JsonObject, claim_uid: str) -> frozenset[str]:
    fields = Fields.of(claim, "claim")
    if fields.object("metadata").text("uid") != claim_uid:
        return frozenset()
    status = fields.optional_object("status")
    reserved = () if status is None else status.objects("reservedFor")
    return frozenset(one.text("uid") for one in reserved if one.optional_text("resource") == "pods")
