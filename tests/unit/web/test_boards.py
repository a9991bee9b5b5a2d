from collections.abc import Sequence

from dra_console.mirror.inventory import DeviceState
from dra_console.mirror.tallies import PoolNumbers, Tally
from dra_console.web.presenters.boards import NodeRow, agent_note, node_names_of, node_rows
from tests.unit.web.states import (
    EVERYBODY,
    a_holder,
    a_reading,
    a_state,
    an_agent,
    live_state,
)

A100 = "NVIDIA A100-SXM4-40GB"


def rows_of(
    states: Sequence[DeviceState],
    *,
    shown: Sequence[DeviceState] | None = None,
    pools: Sequence[PoolNumbers] = (),
) -> tuple[NodeRow, ...]:
    shown = states if shown is None else shown
    return node_rows(
        states,
        node_names=node_names_of(shown),
        shown=shown,
        reader=EVERYBODY,
        live=live_state(an_agent(), gpu_0=a_reading(utilisation_percent=50)),
        pools=pools,
    )


def a_partition(name: str, profile: str, gibibytes: int, **fields: object) -> DeviceState:
    return a_state(
        name,
        node="mig-01",
        product=A100,
        memory_gibibytes=gibibytes,
        parent="gpu-0",
        attributes={"profile": {"string": profile}},
        **fields,  # type: ignore[arg-type]  # the test gives the fields' own types
    )


def a_cut_board() -> list[DeviceState]:
    """The GPU itself is not offered; a half is held, the other half is free."""
    return [
        a_partition("gpu-0-mig-7g40gb-0-0", "7g.40gb", 40, counts=False),
        a_partition("gpu-0-mig-3g20gb-9-0", "3g.20gb", 20, holders=(a_holder(),)),
        a_partition("gpu-0-mig-3g20gb-9-4", "3g.20gb", 20),
        a_partition("gpu-0-mig-1g5gb-19-4", "1g.5gb", 5, counts=False),
    ]


def test_nodes_are_rows_by_name_with_the_models_counted() -> None:
    rows = rows_of(
        [a_state("gpu-0", node="b"), a_state("gpu-0", node="a"), a_state("gpu-1", node="a")]
    )

    assert [row.node_name for row in rows] == ["a", "b"]
    assert rows[0].models == ("2 × H100 80 GB",)


def test_devices_that_are_not_one_nodes_come_last_and_have_no_page() -> None:
    rows = rows_of([a_state("shared-0", node=""), a_state("gpu-0", node="a")])

    assert [(row.node_name, row.address) for row in rows] == [("a", "/nodes/a/"), ("", "")]


def test_partitions_are_drawn_inside_their_gpu_in_proportion() -> None:
    [row] = rows_of(a_cut_board())

    [cell] = row.cells
    assert cell.tile is None
    assert [(part.label, part.eighths) for part in cell.parts] == [("3g.20gb", 4), ("3g.20gb", 4)]
    assert row.models == ("1 × A100 40 GB",)


def test_gpu_that_is_still_whole_is_one_wide_tile() -> None:
    whole = a_state("gpu-0", node="mig-01", product=A100, memory_gibibytes=40)

    [row] = rows_of([whole, a_partition("gpu-0-mig-3g20gb-9-0", "3g.20gb", 20, counts=False)])

    [cell] = row.cells
    assert cell.tile is not None
    assert (cell.tile.device_name, cell.is_partitionable) == ("gpu-0", True)


def test_partition_keeps_its_proportion_when_a_filter_hides_the_largest() -> None:
    board = a_cut_board()

    [row] = rows_of(board, shown=board[1:2])

    assert [part.eighths for part in row.cells[0].parts] == [4]


def test_node_without_a_shown_device_is_left_out() -> None:
    here, there = a_state("gpu-0", node="a"), a_state("gpu-0", node="b")

    rows = rows_of([here, there], shown=[there])

    assert [row.node_name for row in rows] == ["b"]


def test_held_and_used_stand_side_by_side() -> None:
    held = a_state("gpu-0", holders=(a_holder(),))

    [row] = rows_of([held, a_state("gpu-1")])

    assert (row.numbers.held, row.numbers.total, str(row.used)) == (1, 2, "0.5")


def test_use_is_a_lower_bound_while_a_held_device_does_not_report() -> None:
    states = [a_state(name, holders=(a_holder(),)) for name in ("gpu-0", "gpu-1")]

    [row] = rows_of(states)

    assert str(row.used) == "≥ 0.5"


def test_use_is_unknown_when_no_held_device_reports() -> None:
    [row] = rows_of([a_state("gpu-1", holders=(a_holder(),))])

    assert str(row.used) == "?"


def test_incomplete_pool_makes_its_nodes_numbers_lower_bounds() -> None:
    pool = PoolNumbers(
        driver="gpu.nvidia.com",
        pool="gpu-01",
        node_name="gpu-01",
        generation=2,
        slices_seen=1,
        slices_expected=3,
        problem="",
        tally=Tally(free=1, held=0, tainted=0, unavailable=0),
        counters=(),
    )

    [row] = rows_of([a_state()], pools=[pool])

    assert row.is_lower_bound
    assert row.problems == ("pool gpu-01: 1 of 3 slices seen",)


def test_agent_is_said_to_be_live_stale_or_not_there() -> None:
    live = live_state(an_agent("a", age_seconds=0.4), an_agent("b", age_seconds=41))

    notes = [agent_note(name, live=live) for name in "abc"]

    assert [(note.state, note.words) for note in notes] == [
        ("live", "agent 0.4 s"),
        ("stale", "stale 41 s"),
        ("none", "no agent"),
    ]


def test_missing_agent_is_not_claimed_while_the_store_is_unreachable() -> None:
    note = agent_note("a", live=live_state(is_reachable=False))

    assert note.words == "readings not available"
