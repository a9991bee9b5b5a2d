from typing import Any

from dra_console.web.presenters.explanation import ROWS_DRAWN, TABLE_ROWS, explanation_of
from dra_console.web.presenters.node_verdicts import NAMES_DRAWN, NODES_DRAWN
from dra_console.web.presenters.reader import Reader

EVERYBODY = Reader(namespaces=None)
VERDICTS = (
    "class-mismatch",
    "selector-error",
    "selector-mismatch",
    "tainted",
    "taken",
    "constraint",
    "counters",
    "node-filter",
    "free",
)


def group(*names: str, verdict: str, devices: int = 2, **others: Any) -> dict[str, Any]:
    node = "*" if len(names) > 1 else names[0] if names else "shared"
    return {
        "names": list(names),
        "reason": verdict,
        "summary": f"all {verdict}",
        "verdicts": [
            {
                "verdict": verdict,
                "evidence": f"{verdict} by test",
                "request": "gpu",
                "count": devices * max(len(names), 1),
            }
        ],
        "devices": [f"gpu.nvidia.com/{node}/gpu-{number}" for number in range(devices)],
        "judged": [0] * devices,
    } | others


def stored(*groups: dict[str, Any], **others: Any) -> dict[str, Any]:
    funnel = dict.fromkeys(VERDICTS, 0)
    for each in groups:
        for verdict in each["verdicts"]:
            funnel[verdict["verdict"]] += verdict["count"]
    return {
        "outcome": "does-not-fit",
        "headline": "None fits.",
        "detail": "",
        "node": None,
        "funnel": {"considered": sum(funnel.values())} | funnel,
        "together": None,
        "groups": list(groups),
        "holders": {},
        "suggestions": [],
        "steps": 1,
    } | others


def names(count: int) -> list[str]:
    return [f"node-{number:03d}" for number in range(count)]


def test_table_twin_has_a_row_for_each_device_of_folded_nodes() -> None:
    shown = explanation_of(
        stored(group("l4-01", "l4-02", verdict="class-mismatch")), reader=EVERYBODY, selected=""
    )

    assert [found.names for found in shown.nodes] == [("l4-01", "l4-02")]
    assert [tile.key.removeprefix("gpu.nvidia.com/") for tile in shown.verdicts] == [
        "l4-01/gpu-0",
        "l4-01/gpu-1",
        "l4-02/gpu-0",
        "l4-02/gpu-1",
    ]


def test_alike_groups_that_fail_for_one_reason_are_one_row() -> None:
    shown = explanation_of(
        stored(
            group("l4-01", verdict="class-mismatch", devices=4),
            group("l4-02", verdict="class-mismatch", devices=1),
        ),
        reader=EVERYBODY,
        selected="",
    )

    (row,) = shown.nodes
    assert (row.names, row.note) == (("l4-01", "l4-02"), "5 devices, 2 nodes alike")


def test_of_many_alike_nodes_some_are_drawn_and_the_rest_is_one_row() -> None:
    shown = explanation_of(
        stored(group(*names(100), verdict="taken")), reader=EVERYBODY, selected=""
    )

    *drawn, rest = shown.nodes
    assert [len(row.tiles) for row in drawn] == [2] * NODES_DRAWN
    assert len(rest.names) == NAMES_DRAWN
    assert len(rest.names) + rest.more_names == 100 - NODES_DRAWN
    assert rest.tiles == ()


def test_a_large_cluster_is_drawn_in_bounded_size_and_says_what_is_left_out() -> None:
    groups = [group(name, verdict="taken", devices=8) for name in names(200)]

    shown = explanation_of(stored(*groups), reader=EVERYBODY, selected="")

    assert len(shown.nodes) == ROWS_DRAWN
    assert shown.more_nodes == 200 - ROWS_DRAWN
    assert len(shown.verdicts) == TABLE_ROWS
    assert shown.more_verdicts == 200 * 8 - TABLE_ROWS


def test_devices_that_are_only_counted_are_one_row_without_tiles() -> None:
    counted = group(*names(3), verdict="taken", devices=8) | {"devices": None, "judged": None}

    shown = explanation_of(stored(counted), reader=EVERYBODY, selected="")

    (row,) = shown.nodes
    assert (row.note, row.tiles) == ("24 devices, 3 nodes alike", ())
    assert (shown.verdicts, shown.more_verdicts) == ((), 24)


def test_funnel_ends_with_what_does_not_fit_together() -> None:
    together = {
        "free": 2,
        "fit": 0,
        "node": "gpu-01",
        "reason": "constraint",
        "evidence": "the largest group with the same a/numa is 1 (1 with 0, 1 with 1), 2 wanted",
        "limit": "at most 1 with one numa, 2 wanted",
    }

    shown = explanation_of(
        stored(group("gpu-01", verdict="free"), together=together), reader=EVERYBODY, selected=""
    )

    last = shown.funnel[-1]
    assert (last.left, last.label, last.lost, last.is_end) == (
        0,
        "fit together",
        "at most 1 with one numa, 2 wanted",
        True,
    )


def test_holder_is_named_where_the_reader_may_see_it() -> None:
    taken = group("gpu-01", verdict="taken", devices=1)
    holders = {"team-vision": {"train": ["gpu.nvidia.com/gpu-01/gpu-0"]}}

    shown = explanation_of(stored(taken, holders=holders), reader=EVERYBODY, selected="")

    assert shown.verdicts[0].headline == "team-vision"


def test_holder_that_the_reader_may_not_see_is_not_named() -> None:
    taken = group("gpu-01", verdict="taken", devices=1)
    holders = {"team-vision": {"secret": ["gpu.nvidia.com/gpu-01/gpu-0"]}}

    shown = explanation_of(
        stored(taken, holders=holders),
        reader=Reader(namespaces=frozenset({"team-research"})),
        selected="gpu.nvidia.com/gpu-01/gpu-0",
    )

    assert shown.selected is not None
    assert shown.selected.evidence == "taken by another namespace"
    assert shown.selected.headline == "other team"
    assert "team-vision" not in repr(shown)
    assert "secret" not in repr(shown)


def test_selected_device_is_found_among_alike_nodes() -> None:
    shown = explanation_of(
        stored(group(*names(1000), verdict="taken")),
        reader=EVERYBODY,
        selected="gpu.nvidia.com/node-999/gpu-1",
    )

    assert shown.selected is not None
    assert shown.selected.key == "gpu.nvidia.com/node-999/gpu-1"
