"""What a device's page says beyond the readings: limits, counters, clocks.

A value that the board does not report is said to be not reported. NVML tells of a partition only
its memory and processes, so a partition's page names no other row (node-agent.md 6.1).
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from dra_console.mirror.pod_names import PodName
from dra_console.telemetry.details import DeviceDetails, ReportedDetails
from dra_console.web.presenters.device_processes import ProcessRow, process_row
from dra_console.web.wording import GIBIBYTE, bytes_in_words, counted

NOT_REPORTED: Final = "not reported"
CLOCK_LIMITS: Final = {
    "idle": "nothing to do",
    "application-clocks": "the clocks that are set for applications",
    "power-cap": "the power limit",
    "hardware-slowdown": "the hardware's slowdown",
    "sync-boost": "GPUs in step with it",
    "software-thermal": "its temperature (driver)",
    "hardware-thermal": "its temperature (hardware)",
    "power-brake": "the power supply",
    "display-clocks": "the clocks of its display",
}
MEBIBYTE: Final = 2**20
MILLIJOULES_PER_WATT_HOUR: Final = 3_600_000


@dataclass(frozen=True, slots=True)
class Row:
    """One value with its name."""

    label: str
    words: str
    is_reported: bool = True


@dataclass(frozen=True, slots=True)
class Group:
    """Values that belong together."""

    label: str
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class DetailsPanel:
    """Everything that the panel shows."""

    groups: tuple[Group, ...]
    processes: tuple[ProcessRow, ...] | None
    """`None`: the driver does not list them."""

    untold: int
    """How many more there are."""

    age: timedelta
    is_stale: bool


def details_panel(
    reported: ReportedDetails,
    *,
    is_partition: bool,
    pods: Mapping[str, PodName],
    visible: Collection[str] | None,
    now: datetime,
) -> DetailsPanel:
    """Draw what was reported; `visible` are the namespaces whose pods may be named, None: all."""
    details = reported.details
    processes = details.processes
    rows = (
        None
        if processes is None
        else tuple(process_row(one, pods=pods, visible=visible) for one in processes)
    )
    return DetailsPanel(
        groups=_of_partition(details) if is_partition else _of_gpu(details),
        processes=rows,
        untold=max(0, (details.process_count or 0) - len(rows or ())),
        age=max(timedelta(), now - reported.received_at),
        is_stale=reported.is_stale(now),
    )


def _of_partition(details: DeviceDetails) -> tuple[Group, ...]:
    row = _amount("Reserved by the driver", details.memory_reserved_bytes)
    return (Group("Memory", (row,)),) if row.is_reported else ()


def _of_gpu(details: DeviceDetails) -> tuple[Group, ...]:
    return (
        Group(
            "Memory and engines",
            (
                _amount("Reserved by the driver", details.memory_reserved_bytes),
                _row("Memory controller busy", details.memory_controller_percent, "%"),
                _row("Encoder busy", details.encoder_percent, "%"),
                _row("Decoder busy", details.decoder_percent, "%"),
                _bar1(details),
            ),
        ),
        Group(
            "Power and heat",
            (
                _watts("Power limit", details.power_limit_milliwatts),
                _energy(details.energy_millijoules),
                _row("Memory temperature", details.memory_temperature_celsius, "°C"),
                _row("Slows down from", details.slowdown_temperature_celsius, "°C"),
                _row("Fan", details.fan_percent, "%"),
            ),
        ),
        Group(
            "Clocks",
            (
                _row("SM clock at most", details.sm_clock_limit_megahertz, "MHz"),
                _row("Graphics", details.graphics_clock_megahertz, "MHz"),
                _row("Memory", details.memory_clock_megahertz, "MHz"),
                _row("Video", details.video_clock_megahertz, "MHz"),
                _words("Held back by", _clock_limits(details.clock_limits)),
                _words("Performance state", _performance_state(details.performance_state)),
            ),
        ),
        Group(
            "Memory errors",
            (
                _row("Corrected", details.ecc_corrected_errors),
                _row("Uncorrected", details.ecc_uncorrected_errors),
                _row("Corrected, ever", details.ecc_corrected_errors_ever),
                _row("Uncorrected, ever", details.ecc_uncorrected_errors_ever),
                _words("Rows replaced", _rows_replaced(details)),
                _words("Waits for a reset", _waits_for_reset(details)),
            ),
        ),
        Group(
            "PCIe link and driver",
            (
                _words("Link now", _link(details)),
                _row("Packets sent again", details.pcie_replays),
                _words("Driver recommends", _recommended(details.recovery_action)),
            ),
        ),
    )


def _row(label: str, value: int | None, unit: str = "") -> Row:
    return _words(label, None if value is None else f"{_number(value)} {unit}".strip())


def _number(value: int) -> str:
    """Group digits by threes where there are more than four, as clocks elsewhere have none."""
    return str(value) if abs(value) < 10_000 else f"{value:,}".replace(",", " ")  # noqa: PLR2004


def _words(label: str, words: str | None) -> Row:
    return Row(label, NOT_REPORTED, is_reported=False) if words is None else Row(label, words)


def _amount(label: str, amount: int | None) -> Row:
    return _words(label, None if amount is None else _small_amount(amount))


def _watts(label: str, milliwatts: int | None) -> Row:
    return _row(label, None if milliwatts is None else round(milliwatts / 1000), "W")


def _energy(millijoules: int | None) -> Row:
    if millijoules is None:
        return _words("Energy since driver start", None)
    watt_hours = millijoules / MILLIJOULES_PER_WATT_HOUR
    words = f"{watt_hours:.0f} Wh" if watt_hours < 1000 else f"{watt_hours / 1000:,.1f} kWh"  # noqa: PLR2004 - kilo
    return _words("Energy since driver start", words.replace(",", " "))


def _bar1(details: DeviceDetails) -> Row:
    used, total = details.bar1_used_bytes, details.bar1_total_bytes
    if used is None or total is None:
        return _words("BAR1 window", None)
    return _words("BAR1 window", f"{_small_amount(used)} of {_small_amount(total)}")


def _small_amount(amount: int) -> str:
    """Say an amount that is often far below one GiB."""
    return f"{amount / MEBIBYTE:.0f} MiB" if amount < GIBIBYTE else bytes_in_words(amount)


def _clock_limits(limits: tuple[str, ...] | None) -> str | None:
    if limits is None:
        return None
    return ", ".join(CLOCK_LIMITS.get(limit, limit) for limit in limits) or "nothing"


def _performance_state(state: int | None) -> str | None:
    return None if state is None else f"P{state}"


def _rows_replaced(details: DeviceDetails) -> str | None:
    corrected, uncorrected = details.remapped_rows_corrected, details.remapped_rows_uncorrected
    if corrected is None or uncorrected is None:
        return None
    words = counted(corrected + uncorrected, "row")
    return f"{words}, no spare ones left" if details.has_row_remap_failed else words


def _waits_for_reset(details: DeviceDetails) -> str | None:
    told = (details.is_row_remap_pending, details.has_retired_pages_pending)
    if any(told):
        return "yes, to put bad memory out of use"
    return None if told == (None, None) else "no"


def _link(details: DeviceDetails) -> str | None:
    generation, lanes = details.pcie_generation, details.pcie_lanes
    if generation is None or lanes is None:
        return None
    return f"generation {generation}, {counted(lanes, 'lane')}"


def _recommended(action: str | None) -> str | None:
    if action is None:
        return None
    return "nothing" if action == "none" else action.replace("-", " ")
