from typing import Any

from dra_console.web.presenters.explanation import explanation_of
from dra_console.web.presenters.reader import Reader


def device(name: str, *, pool: str, verdict: str, **others: Any) -> dict[str, Any]:
    return {
        "driver": "gpu.nvidia.com",
        "pool": pool,
        "device": name,
        "verdict": verdict,
        "evidence": f"{verdict} by test",
        "holder": None,
        "request": "gpu",
    } | others


def node(name: str, *, reason: str, devices: list[dict[str, Any]]) -> dict[str, Any]:
    return {"name": name, "reason": reason, "summary": "", "devices": devices}


def stored(*nodes: dict[str, Any], **counts: int) -> dict[str, Any]:
    verdicts = (
        "class-mismatch",
        "selector-mismatch",
        "selector-error",
        "tainted",
        "taken",
        "constraint",
        "counters",
        "node-filter",
        "free",
    )
    funnel = dict.fromkeys(verdicts, 0) | counts
    return {
        "outcome": "does-not-fit",
        "headline": "None fits.",
        "detail": "",
        "node": None,
        "funnel": {"considered": sum(funnel.values())} | funnel,
        "nodes": list(nodes),
        "suggestions": [],
        "steps": 1,
    }


def alike(name: str) -> dict[str, Any]:
    devices = [device(f"gpu-{n}", pool=name, verdict="class-mismatch") for n in range(2)]
    return node(name, reason="class-mismatch", devices=devices)


def test_table_twin_has_a_row_for_each_device_of_folded_nodes() -> None:
    shown = explanation_of(
        stored(alike("l4-01"), alike("l4-02"), **{"class-mismatch": 4}),
        reader=Reader(namespaces=None),
        selected="",
    )

    assert [found.names for found in shown.nodes] == [("l4-01", "l4-02")]
    assert [tile.key.removeprefix("gpu.nvidia.com/") for tile in shown.verdicts] == [
        "l4-01/gpu-0",
        "l4-01/gpu-1",
        "l4-02/gpu-0",
        "l4-02/gpu-1",
    ]


def test_holder_that_the_reader_may_not_see_is_not_named() -> None:
    holder = {"namespace": "team-vision", "name": "secret", "uid": "1"}
    taken = device(
        "gpu-0", pool="gpu-01", verdict="taken", holder=holder, evidence="taken by team-vision"
    )

    shown = explanation_of(
        stored(node("gpu-01", reason="taken", devices=[taken]), taken=1),
        reader=Reader(namespaces=frozenset({"team-research"})),
        selected="gpu.nvidia.com/gpu-01/gpu-0",
    )

    assert shown.selected is not None
    assert shown.selected.evidence == "taken by another namespace"
    assert "team-vision" not in repr(shown)
