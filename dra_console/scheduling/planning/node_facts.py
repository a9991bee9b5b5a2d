"""What of a node decides whether pods run on it, devices aside. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from dra_console.allocator.api_json import object_of, objects_of
from dra_console.allocator.decoding.decode import decode_node
from dra_console.allocator.errors import QuantityError
from dra_console.allocator.model import JsonObject, Node
from dra_console.mirror.pod_requests import Amounts, amounts_of
from dra_console.scheduling.planning.tolerations import NodeTaint, taints_of

PODS: Final = "pods"


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """A node as filters see it."""

    node: Node
    """Name and labels."""

    is_ready: bool | None
    """Condition Ready; `None` if that is not known."""

    is_cordoned: bool
    taints: tuple[NodeTaint, ...]
    offers: Amounts
    """`status.allocatable`; empty if that cannot be read."""

    problem: str = ""
    """Why what it offers cannot be read."""


def facts_of(node: JsonObject) -> NodeFacts:
    """Read a Node.

    Raises:
        DecodeError: name or labels are of the wrong kind.

    """
    offers: Mapping[str, int] = {}
    problem = ""
    try:
        offers = amounts_of(object_of(node.get("status")).get("allocatable"))
    except QuantityError as error:
        problem = str(error)
    return NodeFacts(
        node=decode_node(node),
        is_ready=_ready(node),
        is_cordoned=object_of(node.get("spec")).get("unschedulable") is True,
        taints=taints_of(node),
        offers=offers,
        problem=problem,
    )


def _ready(node: JsonObject) -> bool | None:
    for condition in objects_of(object_of(node.get("status")).get("conditions")):
        if condition.get("type") == "Ready":
            return {"True": True, "False": False}.get(str(condition.get("status")))
    return None
