"""Explanations that were stored with one row a device are read like those of today."""

from importlib import import_module
from typing import Any

from dra_console.allocator.explanation.unfolding import node_rows
from dra_console.web.presenters.explanation import explanation_of
from dra_console.web.presenters.reader import Reader

migration = import_module("dra_console.scheduling.migrations.0003_fold_explanations")


def device(name: str, verdict: str, *, holder: dict[str, str] | None = None) -> dict[str, Any]:
    return {
        "driver": "gpu.nvidia.com",
        "pool": "gpu-01",
        "device": name,
        "verdict": verdict,
        "evidence": f"{verdict} by test",
        "holder": holder,
        "request": "gpu",
    }


DEVICES = [
    device("gpu-0", "taken", holder={"namespace": "team-vision", "name": "train", "uid": "1"}),
    device("gpu-1", "free"),
    device("gpu-2", "free"),
]
OLD: dict[str, Any] = {
    "outcome": "does-not-fit",
    "headline": "Only 2 of 3 devices wanted are free.",
    "detail": "Of 3 devices, 1 is taken, 2 are free.",
    "node": None,
    "funnel": {
        "considered": 3,
        "class-mismatch": 0,
        "selector-error": 0,
        "selector-mismatch": 0,
        "tainted": 0,
        "taken": 1,
        "constraint": 0,
        "counters": 0,
        "node-filter": 0,
        "free": 2,
    },
    "nodes": [
        {"name": "gpu-01", "reason": "count", "summary": "2 free, 3 wanted", "devices": DEVICES}
    ],
    "suggestions": [{"text": "Ask for 2", "detail": "fits on gpu-01", "holder": None}],
    "chosen": [],
    "steps": 3,
}


def test_rows_of_a_folded_explanation_are_those_that_were_stored() -> None:
    (row,) = node_rows(migration.folded(OLD))

    holder = {"namespace": "team-vision", "name": "train"}
    assert row == OLD["nodes"][0] | {"devices": [DEVICES[0] | {"holder": holder}, *DEVICES[1:]]}


def test_page_draws_a_folded_explanation() -> None:
    shown = explanation_of(migration.folded(OLD), reader=Reader(namespaces=None), selected="")

    assert [tile.word for tile in shown.verdicts] == ["taken", "free", "free"]
    assert shown.headline == OLD["headline"]
