"""The node's own status, which its kubelet keeps."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from dra_console.allocator.model import Json, JsonObject
from dra_console.devcluster.errors import NotFoundError
from dra_console.devcluster.fields import inside
from dra_console.devcluster.metadata import timestamp
from dra_console.devcluster.store import Store
from dra_console.kube.kinds import NODES

KUBELET_VERSION: Final = "v1.37.0-devcluster"
"""As old as the API server says that it is; 1.34.0 has a fault that agents warn of."""

CONDITIONS: Final = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID"),
    ("Ready", "True", "KubeletReady"),
)
"""Type, status and reason of what a healthy kubelet reports."""


@dataclass(frozen=True, slots=True)
class NodeStatus:
    """Reports that a node is alive."""

    store: Store
    node_name: str

    def beat(self, *, now: datetime) -> None:
        """Write the node's conditions with the time of this beat; a deleted node has none."""
        try:
            node = self.store.get(NODES, "", self.node_name)
        except NotFoundError:
            return
        status = inside(node, "status")
        known = {
            condition.text("type"): condition.raw for condition in status.children("conditions")
        }
        own: list[Json] = [
            _condition(known.get(word), word=word, value=value, reason=reason, now=now)
            for word, value, reason in CONDITIONS
        ]
        others: list[Json] = [
            condition for word, condition in known.items() if word not in {c[0] for c in CONDITIONS}
        ]
        node["status"] = {
            **status.raw,
            "conditions": others + own,
            "nodeInfo": {
                **inside(node, "status", "nodeInfo").raw,
                "kubeletVersion": KUBELET_VERSION,
            },
        }
        self.store.update(NODES, node, subresource="status")


def _condition(
    before: JsonObject | None, *, word: str, value: str, reason: str, now: datetime
) -> JsonObject:
    changed = before is None or before.get("status") != value
    since: Json = timestamp(now) if before is None or changed else before.get("lastTransitionTime")
    return {
        "type": word,
        "status": value,
        "reason": reason,
        "message": f"kubelet reports {word} {value}",
        "lastHeartbeatTime": timestamp(now),
        "lastTransitionTime": since,
    }
