from hypothesis import given
from hypothesis import strategies as st

from dra_console.mirror.inventory import State
from dra_console.web.presenters.sum_bar import sum_bar_of
from dra_console.web.presenters.tiles import Look
from tests.unit.web.states import EVERYBODY, RESEARCH, a_holder, a_state, a_taint

SICK = a_state(state=State.TAINTED, taints=(a_taint(),))
DRAINED = a_state(state=State.TAINTED, taints=(a_taint(rule="drain"),))
GONE = a_state(state=State.UNAVAILABLE, reason="node gpu-01 is not ready")
MINE = a_state(holders=(a_holder("team-research"),))
THEIRS = a_state(holders=(a_holder("team-vision"),))
FREE = a_state()


def test_parts_are_told_apart_and_the_sum_is_said_in_words() -> None:
    bar = sum_bar_of([MINE, THEIRS, THEIRS, FREE, SICK, DRAINED, GONE], reader=RESEARCH)

    assert [(part.look, part.count) for part in bar.parts] == [
        (Look.MINE, 1),
        (Look.HELD, 2),
        (Look.FREE, 1),
        (Look.WARN, 1),
        (Look.SICK, 1),
        (Look.UNAVAILABLE, 1),
    ]
    assert bar.words == "7 devices = 3 held + 1 free + 2 tainted + 1 unavailable"


def test_partitions_are_told_apart_from_whole_devices() -> None:
    part = a_state("gpu-0-mig-1g5gb-19-0", parent="gpu-0")

    assert sum_bar_of([part], reader=EVERYBODY).words == "1 partition = 1 free"
    assert sum_bar_of([MINE, part, part], reader=EVERYBODY).words == (
        "1 device and 2 partitions = 1 held + 2 free"
    )


def test_state_without_devices_is_left_out() -> None:
    assert sum_bar_of([FREE], reader=EVERYBODY).words == "1 device = 1 free"


def test_overlapping_partitions_are_not_counted() -> None:
    bar = sum_bar_of([FREE, a_state("other", counts=False)], reader=EVERYBODY)

    assert (bar.total, bar.free) == (1, 1)


def test_numbers_of_an_incomplete_pool_are_lower_bounds() -> None:
    assert sum_bar_of([FREE], reader=EVERYBODY, is_lower_bound=True).words.startswith("≥ 1 device")


def test_nothing_is_no_bar() -> None:
    bar = sum_bar_of([], reader=EVERYBODY)

    assert (bar.parts, bar.words) == ((), "no devices")


@given(st.lists(st.sampled_from([SICK, DRAINED, GONE, MINE, THEIRS, FREE]), min_size=1))
def test_parts_lie_end_to_end_and_fill_the_bar(states: list[object]) -> None:
    bar = sum_bar_of(states, reader=RESEARCH)  # type: ignore[arg-type]  # sampled from device states

    end = 0.0
    for part in bar.parts:
        assert abs(float(part.offset_percent) - end) < 0.01
        end = float(part.offset_percent) + float(part.width_percent)
    assert abs(end - 100) < 0.01
    assert sum(part.count for part in bar.parts) == len(states)
