import json

import pytest

from benchmarks.machine import machine
from benchmarks.table import Row, duration, missed, table
from benchmarks.targets import AtLeast, AtMost, Column, beside, faster, within

TIMES = {Column.COLD: 0.004, Column.WARM: 0.00002, Column.REFERENCE: 0.01}


def a_row(**fields: object) -> Row:
    row = Row("B1", "one GPU", TIMES, (faster(100), within(1)))
    return Row(**{name: getattr(row, name) for name in Row.__slots__} | fields)


def test_a_ratio_is_how_many_times_as_fast_as_the_other_column() -> None:
    target = faster(100)

    assert target.ratio(TIMES) == pytest.approx(500)
    assert target.is_met(TIMES) is True
    assert faster(501).is_met(TIMES) is False


def test_a_target_beside_a_column_that_is_missing_is_neither_met_nor_missed() -> None:
    target = faster(1, than=Column.GO_COLD)

    assert target.is_met(TIMES) is None
    assert missed([a_row(targets=(target,))]) == []


def test_a_ratio_of_which_nothing_is_wanted_is_shown_without_a_verdict() -> None:
    row = a_row(targets=(beside(),))

    header, _line, cells = table([row]).splitlines()

    shown = dict(zip(split(header), split(cells), strict=True))
    assert (shown["target"], shown["measured"], shown["met"]) == (
        "(warm beside reference)",
        "500x",
        "-",
    )
    assert missed([row]) == []


def test_bounds_on_times_and_on_other_figures() -> None:
    assert within(1).is_met(TIMES) is True
    assert within(3, Column.COLD).is_met(TIMES) is False
    assert AtMost("bytes", 5, 5).is_met(TIMES) is False
    assert AtLeast("pods/s", 5, 5).is_met(TIMES) is True


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(12.34, "12.3 s"), (0.0123, "12.3 ms"), (0.00002, "20 us"), (3e-7, "300 ns")],
)
def test_times_are_written_in_the_unit_that_suits_them(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_the_table_shows_figures_bounds_gaps_and_verdicts() -> None:
    row = a_row(unfinished=frozenset({Column.REFERENCE}), targets=(faster(100), within(0.01)))

    other = a_row(seconds={**TIMES, Column.GO_COLD: 0.001})
    header, _line, cells, _other = table([row, other]).splitlines()

    shown = dict(zip(split(header), split(cells), strict=True))
    assert shown["reference"] == "> 10 ms"
    assert shown["go cold"] == "-"
    assert "go warm" not in shown
    assert shown["measured"] == "500x; 20 us"
    assert shown["met"] == "yes; NO"


def split(line: str) -> list[str]:
    return [cell.strip() for cell in line.split("|")[1:-1]]


def test_missed_targets_are_listed_with_their_scenario() -> None:
    assert missed([a_row(targets=(within(0.01),))]) == ["B1 one GPU: warm < 0.01 ms"]


def test_json_has_the_same_figures_in_microseconds() -> None:
    written = json.loads(json.dumps(a_row(remarks=("3 MB",)).to_json()))

    assert written["micros"] == {"cold": 4000.0, "warm": 20.0, "reference": 10000.0}
    assert [each["met"] for each in written["targets"]] == [True, True]
    assert written["remarks"] == ["3 MB"]


def test_the_machine_is_described_with_date_and_versions() -> None:
    facts = machine()

    assert str(facts["measured_at"]).endswith("Z")
    assert facts["cpu"]
    assert str(facts["python"]).startswith("CPython 3.")
