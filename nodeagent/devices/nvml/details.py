"""What a GPU tells of itself beyond its readings (node-agent.md 6.1).

Every field is asked for alone, so that each may be missing alone. PCIe throughput is left out: the
driver measures it for 20 ms a call.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pynvml

from nodeagent.devices.details import Details
from nodeagent.devices.nvml.calls import Calls, field_value
from nodeagent.devices.nvml.readings import memory_of
from nodeagent.devices.nvml.vitals import recovery_action

MEMORY_TEMPERATURE_FIELD: Final = 82
CLOCK_LIMITS: Final = (
    (0x1, "idle"),
    (0x2, "application-clocks"),
    (0x4, "power-cap"),
    (0x8, "hardware-slowdown"),
    (0x10, "sync-boost"),
    (0x20, "software-thermal"),
    (0x40, "hardware-thermal"),
    (0x80, "power-brake"),
    (0x100, "display-clocks"),
)
"""Bits of NVML's reasons for the present clocks."""


@dataclass(frozen=True, slots=True)
class _Questions:
    """Asks one device, one field a call."""

    uuid: str
    handle: object
    calls: Calls

    def ask(self, name: str, call: Callable[..., Any], *arguments: object) -> Any:  # noqa: ANN401 - pynvml is untyped
        return self.calls.optional(self.uuid, name, lambda: call(self.handle, *arguments))

    def clock(self, name: str, kind: int) -> int | None:
        value: int | None = self.ask(f"{name} clock", pynvml.nvmlDeviceGetClockInfo, kind)
        return value

    def ecc_errors(self, name: str, kind: int, counter: int) -> int | None:
        value: int | None = self.ask(name, pynvml.nvmlDeviceGetTotalEccErrors, kind, counter)
        return value


def gpu_details(name: str, uuid: str, handle: object, *, calls: Calls) -> Details:
    """Read a whole GPU.

    Raises:
        DevicesError: as `Calls.optional`.

    """
    of = _Questions(uuid, handle, calls)
    memory = memory_of(uuid, handle, calls=calls)
    rates = of.ask("utilisation", pynvml.nvmlDeviceGetUtilizationRates)
    bar1 = of.ask("bar1", pynvml.nvmlDeviceGetBAR1MemoryInfo)
    reasons = of.ask("clocks", pynvml.nvmlDeviceGetCurrentClocksEventReasons)
    rows = of.ask("row remap", pynvml.nvmlDeviceGetRemappedRows)
    retired = of.ask("retired pages", pynvml.nvmlDeviceGetRetiredPagesPendingStatus)
    corrected, uncorrected = (
        pynvml.NVML_MEMORY_ERROR_TYPE_CORRECTED,
        pynvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED,
    )
    return Details(
        device=name,
        # Version 1 of the call does not have it.
        memory_reserved_bytes=getattr(memory, "reserved", None),
        memory_controller_percent=rates.memory if rates else None,
        encoder_percent=_first(of.ask("encoder", pynvml.nvmlDeviceGetEncoderUtilization)),
        decoder_percent=_first(of.ask("decoder", pynvml.nvmlDeviceGetDecoderUtilization)),
        bar1_used_bytes=bar1.bar1Used if bar1 else None,
        bar1_total_bytes=bar1.bar1Total if bar1 else None,
        power_limit_milliwatts=of.ask("power limit", pynvml.nvmlDeviceGetEnforcedPowerLimit),
        energy_millijoules=of.ask("energy", pynvml.nvmlDeviceGetTotalEnergyConsumption),
        memory_temperature_celsius=of.ask("memory temperature", _memory_temperature),
        slowdown_temperature_celsius=of.ask(
            "slowdown temperature",
            pynvml.nvmlDeviceGetTemperatureThreshold,
            pynvml.NVML_TEMPERATURE_THRESHOLD_SLOWDOWN,
        ),
        graphics_clock_megahertz=of.clock("graphics", pynvml.NVML_CLOCK_GRAPHICS),
        memory_clock_megahertz=of.clock("memory", pynvml.NVML_CLOCK_MEM),
        video_clock_megahertz=of.clock("video", pynvml.NVML_CLOCK_VIDEO),
        sm_clock_limit_megahertz=of.ask(
            "sm clock limit", pynvml.nvmlDeviceGetMaxClockInfo, pynvml.NVML_CLOCK_SM
        ),
        clock_limits=clock_limits(reasons) if reasons is not None else None,
        performance_state=_performance_state(
            of.ask("performance state", pynvml.nvmlDeviceGetPerformanceState)
        ),
        fan_percent=of.ask("fan", pynvml.nvmlDeviceGetFanSpeed),
        ecc_corrected_errors=of.ecc_errors("corrected ecc", corrected, pynvml.NVML_VOLATILE_ECC),
        ecc_uncorrected_errors=of.ecc_errors(
            "uncorrected ecc", uncorrected, pynvml.NVML_VOLATILE_ECC
        ),
        ecc_corrected_errors_ever=of.ecc_errors(
            "corrected ecc ever", corrected, pynvml.NVML_AGGREGATE_ECC
        ),
        ecc_uncorrected_errors_ever=of.ecc_errors(
            "uncorrected ecc ever", uncorrected, pynvml.NVML_AGGREGATE_ECC
        ),
        remapped_rows_corrected=rows[0] if rows else None,
        remapped_rows_uncorrected=rows[1] if rows else None,
        is_row_remap_pending=bool(rows[2]) if rows else None,
        has_row_remap_failed=bool(rows[3]) if rows else None,
        has_retired_pages_pending=bool(retired) if retired is not None else None,
        pcie_generation=of.ask("pcie generation", pynvml.nvmlDeviceGetCurrPcieLinkGeneration),
        pcie_lanes=of.ask("pcie lanes", pynvml.nvmlDeviceGetCurrPcieLinkWidth),
        pcie_replays=of.ask("pcie replays", pynvml.nvmlDeviceGetPcieReplayCounter),
        recovery_action=of.ask("recovery action", recovery_action),
    )


def partition_details(name: str, uuid: str, handle: object, *, calls: Calls) -> Details:
    """Read a partition: NVML tells its memory alone, and all else of its GPU.

    Raises:
        DevicesError: as `Calls.optional`.

    """
    memory = memory_of(uuid, handle, calls=calls)
    return Details(device=name, memory_reserved_bytes=getattr(memory, "reserved", None))


def clock_limits(reasons: int) -> tuple[str, ...]:
    """Name the reasons why clocks are not higher; bits that nobody knows yet are `other`."""
    known = tuple(word for bit, word in CLOCK_LIMITS if reasons & bit)
    has_other = reasons & ~sum(bit for bit, _ in CLOCK_LIMITS)
    return (*known, "other") if has_other else known


def _first(answer: Sequence[int] | None) -> int | None:
    """Return the percentage of an answer that tells the length of its sample as well."""
    return answer[0] if answer else None


def _performance_state(state: int | None) -> int | None:
    return None if state == pynvml.NVML_PSTATE_UNKNOWN else state


def _memory_temperature(handle: object) -> int:
    return field_value(handle, MEMORY_TEMPERATURE_FIELD)
