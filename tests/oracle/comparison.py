"""When two answers to a scenario agree.

Outcome, node and allocations must be equal: the same devices in the same order with all that
is written about them. Share IDs are random, so only their presence counts; quantities are
compared as quantities and node selectors as sets. The text of an error is nobody's contract,
and whether a search runs out of budget depends on how fast it is.
"""

from collections.abc import Mapping
from typing import Final

from dra_console.allocator.api_json import Json, JsonObject, object_of, objects_of
from dra_console.allocator.quantity import Quantity

BUDGET: Final = "budget"


def differences(ours: JsonObject, upstreams: JsonObject) -> list[str]:
    """Name what differs, the most telling first; empty if the answers agree."""
    if is_out_of_budget(ours) or is_out_of_budget(upstreams):
        return []
    for field in ("outcome", "node"):
        if ours.get(field) != upstreams.get(field):
            return [f"{field}: {_shown(ours, field)}, upstream {_shown(upstreams, field)}"]
    mine, theirs = object_of(ours.get("allocations")), object_of(upstreams.get("allocations"))
    if mine.keys() != theirs.keys():
        return [f"claims: {sorted(mine)}, upstream {sorted(theirs)}"]
    return [
        f"{part} of {claim}: {one}, upstream {other}"
        for claim in theirs
        for part, one, other in _parts(object_of(mine[claim]), object_of(theirs[claim]))
    ]


def is_out_of_budget(answer: JsonObject) -> bool:
    """Tell whether a search was given up, of the last node or of one before the answer's."""
    return answer["outcome"] == BUDGET or bool(answer.get("undecided"))


def _shown(answer: JsonObject, field: str) -> str:
    detail = f" ({answer['error']})" if answer.get("error") and field == "outcome" else ""
    return f"{answer.get(field)}{detail}"


def _parts(mine: JsonObject, theirs: JsonObject) -> list[tuple[str, object, object]]:
    one, other = _comparable(mine), _comparable(theirs)
    return [(part, one[part], other[part]) for part in one if one[part] != other[part]]


def _comparable(allocation: JsonObject) -> Mapping[str, object]:
    devices = object_of(allocation.get("devices"))
    return {
        "results": [_result(each) for each in objects_of(devices.get("results"))],
        "config": [_without_empty(each) for each in objects_of(devices.get("config"))],
        "nodeSelector": _selector(object_of(allocation.get("nodeSelector"))),
        "others": _without_empty(
            {
                key: each
                for key, each in allocation.items()
                if key not in {"devices", "nodeSelector"}
            }
        ),
    }


def _result(result: JsonObject) -> Mapping[str, object]:
    compared: dict[str, object] = dict(_without_empty(result))
    if "shareID" in compared:
        compared["shareID"] = "any"
    if "consumedCapacity" in compared:
        compared["consumedCapacity"] = {
            name: Quantity.parse(str(amount)).nanos
            for name, amount in object_of(result["consumedCapacity"]).items()
        }
    return compared


def _without_empty(fields: JsonObject) -> JsonObject:
    return {key: each for key, each in fields.items() if each not in (None, False, "", [], {})}


def _selector(selector: JsonObject) -> object:
    return [
        {
            kind: {_requirement(each) for each in objects_of(term.get(kind))}
            for kind in ("matchExpressions", "matchFields")
        }
        for term in objects_of(selector.get("nodeSelectorTerms"))
    ]


def _requirement(requirement: JsonObject) -> object:
    values: Json = requirement.get("values")
    return (
        requirement["key"],
        requirement["operator"],
        frozenset(map(str, values)) if isinstance(values, list) else frozenset(),
    )
