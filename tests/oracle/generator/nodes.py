"""Nodes, and how slices and devices say which nodes reach them."""

from collections.abc import Sequence
from typing import Final

from dra_console.allocator.api_json import Json, JsonObject, objects_of
from tests.oracle.generator.chance import Chance
from tests.oracle.generator.mood import Ingredient, Mood

ZONES: Final = ("z0", "z1")


def node(chance: Chance, mood: Mood, name: str) -> JsonObject:
    """Draw a node; labels are missing now and then."""
    rank = "first" if chance.maybe(0.05) else str(chance.between(0, 3))
    labels: JsonObject = {"site": "s", "rank": rank}
    if chance.maybe(0.9):
        labels["zone"] = chance.pick(ZONES)
    drawn: JsonObject = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
    }
    if mood.has(Ingredient.SKIPS) and chance.maybe(0.7):
        drawn["status"] = {"declaredFeatures": ["DRAOptionalNodeOperations"]}
    return drawn


def slice_reach(chance: Chance, node_names: Sequence[str]) -> JsonObject:
    """Draw how a slice of a pool that is not bound to one node reaches its nodes."""
    match chance.pick(("node", "all", "selector", "selector")):
        case "node":
            return {"nodeName": chance.pick(node_names)}
        case "all":
            return {"allNodes": True}
        case _:
            return {"nodeSelector": node_selector(chance, node_names)}


def device_reach(chance: Chance, node_names: Sequence[str]) -> JsonObject:
    """Draw the node selection of one device."""
    if chance.maybe(0.5):
        return {"nodeName": chance.pick(node_names)}
    reach = slice_reach(chance, node_names)
    if "nodeSelector" in reach and chance.maybe(0.05):
        # Only the selector of a slice must have one term; with two, no result can be written.
        terms = [node_selector(chance, node_names)["nodeSelectorTerms"] for _ in range(2)]
        reach["nodeSelector"] = {
            "nodeSelectorTerms": [*objects_of(terms[0]), *objects_of(terms[1])]
        }
    return reach


def node_selector(chance: Chance, node_names: Sequence[str]) -> JsonObject:
    """Draw a node selector of one term, as slices must have."""
    term: JsonObject = {}
    expressions: list[Json] = [_requirement(chance) for _ in range(chance.pick((0, 1, 1, 1, 2)))]
    if expressions:
        term["matchExpressions"] = expressions
    if not expressions or chance.maybe(0.15):
        operator = "NotIn" if chance.maybe(0.15) else "In"
        name = chance.pick(node_names)
        term["matchFields"] = [{"key": "metadata.name", "operator": operator, "values": [name]}]
    return {"nodeSelectorTerms": [term]}


def _requirement(chance: Chance) -> JsonObject:
    match chance.pick(("In", "In", "In", "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")):
        case "In":
            zones: list[Json] = [*chance.shuffled(ZONES)] if chance.maybe(0.3) else [ZONES[0]]
            return {"key": "zone", "operator": "In", "values": zones}
        case "NotIn":
            return {"key": "zone", "operator": "NotIn", "values": [chance.pick(ZONES)]}
        case "Exists":
            return {"key": chance.pick(("zone", "site")), "operator": "Exists"}
        case "DoesNotExist":
            return {"key": chance.pick(("zone", "gone")), "operator": "DoesNotExist"}
        case operator:
            return {"key": "rank", "operator": operator, "values": [str(chance.between(0, 3))]}
