"""Taints of nodes, and pods that put up with them (core v1, not those of devices). Pure.

An operator that is not known tolerates nothing. `Gt` and `Lt` (KEP-5471) are among these:
API servers that take them are rare, and a pod that waits does no harm.
"""

from typing import Final, NamedTuple

from dra_console.allocator.api_json import object_of, objects_of
from dra_console.allocator.model import JsonObject

KEEPS_OFF: Final = frozenset({"NoSchedule", "NoExecute"})
PREFER_NO_SCHEDULE: Final = "PreferNoSchedule"


class NodeTaint(NamedTuple):
    """A reason not to run on a node."""

    key: str
    value: str
    effect: str

    def __str__(self) -> str:
        return f"{self.key}={self.value}:{self.effect}"


class NodeToleration(NamedTuple):
    """Empty texts: any key, any effect; the operator is `Equal` where none is given."""

    key: str
    operator: str
    value: str
    effect: str

    def tolerates(self, taint: NodeTaint) -> bool:
        """Tell whether a pod with it runs in spite of the taint."""
        if self.effect not in {"", taint.effect} or self.key not in {"", taint.key}:
            return False
        if self.operator in {"", "Equal"}:
            return self.value == taint.value
        return self.operator == "Exists"


def taints_of(node: JsonObject) -> tuple[NodeTaint, ...]:
    """Read the taints of a node."""
    return tuple(
        NodeTaint(_text(each, "key"), _text(each, "value"), _text(each, "effect"))
        for each in objects_of(object_of(node.get("spec")).get("taints"))
    )


def tolerations_of(pod_spec: JsonObject) -> tuple[NodeToleration, ...]:
    """Read the tolerations of a pod."""
    return tuple(
        NodeToleration(*(_text(each, name) for name in NodeToleration._fields))
        for each in objects_of(pod_spec.get("tolerations"))
    )


def untolerated(
    taints: tuple[NodeTaint, ...], tolerations: tuple[NodeToleration, ...]
) -> NodeTaint | None:
    """Return the first taint that keeps the pod off."""
    for taint in taints:
        if taint.effect in KEEPS_OFF and not any(each.tolerates(taint) for each in tolerations):
            return taint
    return None


def unwelcome(taints: tuple[NodeTaint, ...], tolerations: tuple[NodeToleration, ...]) -> int:
    """Count the taints by which other nodes are better, though this one will do."""
    return sum(
        taint.effect == PREFER_NO_SCHEDULE
        and not any(each.tolerates(taint) for each in tolerations)
        for taint in taints
    )


def _text(entry: JsonObject, key: str) -> str:
    value = entry.get(key)
    return value if isinstance(value, str) else ""
