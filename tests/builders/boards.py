"""Boards of nodes to plan against, from objects as the API server would send them."""

from typing import Any

from dra_console.allocator.decoding.decode import decode_snapshot
from dra_console.allocator.model import JsonObject
from dra_console.allocator.search.fleet import Fleet
from dra_console.scheduling.planning.board import NodeBoard
from tests.builders.objects import a_node


def a_ready_node(
    name: str = "gpu-01", *, offers: dict[str, str] | None = None, **labels: str
) -> Any:
    """Build a node that takes pods; without `offers` it bounds nothing."""
    node: Any = a_node(name, **labels)
    node["status"] = {
        "conditions": [{"type": "Ready", "status": "True"}],
        "allocatable": offers or {},
    }
    return node


def a_board(*objects: JsonObject) -> NodeBoard:
    """Put all objects into a fleet, and the nodes on the board as well."""
    board = NodeBoard(Fleet(decode_snapshot(objects)))
    for each in objects:
        if each["kind"] == "Node":
            board.put_node(each)
    return board
