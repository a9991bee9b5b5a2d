"""How details are said: units, small amounts, and what a partition has of its own."""

from datetime import UTC, datetime, timedelta

import pytest

from dra_console.mirror.pod_names import PodName
from dra_console.telemetry.details import DeviceDetails, DeviceProcess, ReportedDetails
from dra_console.web.presenters.device_details import DetailsPanel, details_panel
from dra_console.web.presenters.device_processes import process_row

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
MEBIBYTE = 2**20


def panel_of(details: DeviceDetails, *, is_partition: bool = False) -> DetailsPanel:
    reported = ReportedDetails(details=details, received_at=NOW - timedelta(seconds=4))
    return details_panel(reported, is_partition=is_partition, pods={}, visible=None, now=NOW)


def words_of(details: DeviceDetails) -> dict[str, str]:
    return {row.label: row.words for group in panel_of(details).groups for row in group.rows}


@pytest.mark.parametrize(
    ("details", "label", "words"),
    [
        (DeviceDetails(bar1_used_bytes=3 * MEBIBYTE, bar1_total_bytes=128 * 2**30), "BAR1 window",
         "3 MiB of 128 GiB"),
        (DeviceDetails(bar1_used_bytes=3), "BAR1 window", "not reported"),
        (DeviceDetails(energy_millijoules=36_000_000), "Energy since driver start", "10 Wh"),
        (DeviceDetails(energy_millijoules=4_500_000_000_000), "Energy since driver start",
         "1 250.0 kWh"),
        (DeviceDetails(power_limit_milliwatts=699_600), "Power limit", "700 W"),
        (DeviceDetails(clock_limits=()), "Held back by", "nothing"),
        (DeviceDetails(clock_limits=("idle",)), "Held back by", "nothing to do"),
        (DeviceDetails(performance_state=8), "Performance state", "P8"),
        (DeviceDetails(ecc_corrected_errors=12_345), "Corrected", "12 345"),
        (DeviceDetails(remapped_rows_corrected=1, remapped_rows_uncorrected=0), "Rows replaced",
         "1 row"),
        (DeviceDetails(remapped_rows_corrected=1, remapped_rows_uncorrected=7,
                       has_row_remap_failed=True), "Rows replaced", "8 rows, no spare ones left"),
        (DeviceDetails(), "Waits for a reset", "not reported"),
        (DeviceDetails(is_row_remap_pending=False), "Waits for a reset", "no"),
        (DeviceDetails(has_retired_pages_pending=True), "Waits for a reset",
         "yes, to put bad memory out of use"),
        (DeviceDetails(pcie_generation=5, pcie_lanes=1), "Link now", "generation 5, 1 lane"),
        (DeviceDetails(recovery_action="none"), "Driver recommends", "nothing"),
        (DeviceDetails(recovery_action="drain-and-reset"), "Driver recommends", "drain and reset"),
    ],
)  # fmt: skip
def test_a_value_is_said_as_people_say_it(details: DeviceDetails, label: str, words: str) -> None:
    assert words_of(details)[label] == words


def test_what_is_not_reported_is_never_a_number() -> None:
    assert set(words_of(DeviceDetails()).values()) == {"not reported"}


def test_a_partition_has_only_what_is_its_own() -> None:
    details = DeviceDetails(memory_reserved_bytes=64 * MEBIBYTE)

    (group,) = panel_of(details, is_partition=True).groups

    assert [(row.label, row.words) for row in group.rows] == [("Reserved by the driver", "64 MiB")]
    assert panel_of(DeviceDetails(), is_partition=True).groups == ()


def test_processes_that_are_not_listed_are_not_the_same_as_none() -> None:
    assert panel_of(DeviceDetails()).processes is None
    assert panel_of(DeviceDetails(process_count=0, processes=())).processes == ()


OURS = PodName("team-research", "train", is_mirrored=True)


@pytest.mark.parametrize(
    ("visible", "owner"),
    [
        (None, "team-research/train"),
        (frozenset({"team-research"}), "team-research/train"),
        (frozenset({"team-vision"}), "a pod that you may not see"),
    ],
)
def test_a_pod_is_named_to_whoever_may_list_it(visible: frozenset[str] | None, owner: str) -> None:
    process = DeviceProcess(pid=1, pod_uid="uid-1", container_id="c" * 64)

    row = process_row(process, pods={"uid-1": OURS}, visible=visible)

    assert row.owner == owner
    assert row.container == ("" if row.pod is None else "c" * 12)


def test_a_pod_that_the_mirror_does_not_know_is_told_by_its_uid_to_those_who_see_all() -> None:
    process = DeviceProcess(pid=1, pod_uid="uid-9")

    assert "uid-9" in process_row(process, pods={}, visible=None).owner
    assert "uid-9" not in process_row(process, pods={}, visible=frozenset({"x"})).owner
