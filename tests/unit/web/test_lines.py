from datetime import timedelta

from dra_console.telemetry.readings import HeldAndUsed
from dra_console.web.presenters.device_page import utilisation_line
from dra_console.web.presenters.lines import Point, area_path, line_path
from dra_console.web.presenters.overview import chart_of
from tests.unit.web.states import NOW

START = NOW - timedelta(seconds=100)
GAP = timedelta(seconds=15)


def at(seconds: float, value: float | None) -> Point:
    return Point(START + timedelta(seconds=seconds), value)


def test_line_joins_points_from_left_to_right_with_the_highest_value_on_top() -> None:
    path = line_path([at(0, 0), at(5, 50), at(10, 100)], start=START, highest=100, longest_gap=GAP)

    assert path == "M0 100.0L5 50.0L10 0.0"


def test_line_has_a_gap_where_nothing_was_reported() -> None:
    points = [at(0, 97), at(5, None), at(10, 97)]

    path = line_path(points, start=START, highest=100, longest_gap=GAP)

    assert path == "M0 3.0M10 3.0"


def test_line_has_a_gap_where_the_agent_was_silent() -> None:
    path = line_path([at(0, 97), at(40, 97)], start=START, highest=100, longest_gap=GAP)

    assert path == "M0 3.0M40 3.0"


def test_area_stands_on_the_ground_in_each_run() -> None:
    path = area_path([at(0, 50), at(5, 50)], start=START, highest=100, longest_gap=GAP)

    assert path == "M0 100L0 50.0L5 50.0L5 100Z"


def test_utilisation_line_says_in_words_what_it_draws() -> None:
    history = [(NOW - timedelta(seconds=10), 80), (NOW - timedelta(seconds=5), None), (NOW, 90)]

    line = utilisation_line(history, now=NOW)

    assert line.summary == "between 80 % and 90 %, on average 85 %"
    assert line.points.split(" ")[1].endswith(":")


def test_utilisation_that_was_never_reported_is_said_to_be_so() -> None:
    assert utilisation_line([(NOW, None)], now=NOW).summary == "not reported"


def a_point(seconds_ago: float, held: int, used: float, unknown: int = 0) -> HeldAndUsed:
    return HeldAndUsed(NOW - timedelta(seconds=seconds_ago), held, used, unknown)


def test_chart_needs_two_points() -> None:
    assert chart_of([a_point(15, 4, 2.0)], total=8, now=NOW) is None


def test_chart_says_in_words_what_it_draws_and_marks_lower_bounds() -> None:
    points = [a_point(30, 4, 2.0), a_point(15, 6, 3.0, unknown=1)]

    chart = chart_of(points, total=8, now=NOW)

    assert chart is not None
    assert chart.summary == "6 devices held and ≥ 3.0 used now; over the last 5 min 4 to 6 held"
    assert chart.highest == 8


def test_chart_has_a_gap_and_no_zero_where_no_held_device_is_known() -> None:
    points = [a_point(45, 4, 2.0), a_point(30, 4, 2.0), a_point(15, 4, 0.0, unknown=4)]

    chart = chart_of(points, total=8, now=NOW)

    assert chart is not None
    assert chart.summary.startswith("4 devices held and ? used now")
    assert "100.0" not in chart.used_path


def test_chart_grows_with_what_is_known_up_to_an_hour() -> None:
    young = chart_of([a_point(600, 4, 2.0), a_point(15, 6, 3.0)], total=8, now=NOW)
    old = chart_of([a_point(3599, 4, 2.0), a_point(15, 6, 3.0)], total=8, now=NOW)

    assert young is not None
    assert old is not None
    assert (young.width_seconds, old.width_seconds) == (600, 3599)


def test_table_twin_of_the_chart_has_one_row_every_five_minutes() -> None:
    points = [a_point(15 * number, 4, 2.0) for number in range(200, 0, -1)]

    chart = chart_of(points, total=8, now=NOW)

    assert chart is not None
    assert len(chart.table) in {10, 11}
    assert chart.table[0].at > chart.table[-1].at
