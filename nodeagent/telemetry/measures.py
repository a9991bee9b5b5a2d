"""The newest sample for Prometheus: what devices do now, in base units, by device and UUID.

Made when somebody asks, so it costs nothing until then. What is not reported has no series: a 0
would be a fact.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import prometheus_client
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from nodeagent.devices.details import Details
from nodeagent.telemetry.messages import Sample

PREFIX: Final = "dra_nodeagent_device_"
OF_DEVICE: Final = ("device", "uuid")
PERCENT: Final = 1 / 100
MILLI: Final = 1 / 1000
MEGA: Final = 10**6


@dataclass(frozen=True, slots=True)
class Measure:
    """One metric: the field that it is made of, and how many base units that counts."""

    name: str
    text: str
    field: str
    unit: float = 1
    kind: Callable[..., Metric] = GaugeMetricFamily

    def of(self, told: Mapping[tuple[str, str], object]) -> Metric:
        """Measure it for every device that reports it."""
        family = self.kind(f"{PREFIX}{self.name}", self.text, labels=OF_DEVICE)
        for labels, values in told.items():
            value = getattr(values, self.field)
            if value is not None:
                family.add_metric(labels, value * self.unit)  # type: ignore[attr-defined] # of all families
        return family


OF_READINGS: Final = (
    Measure("utilisation_ratio", "Share of time in use.", "utilisation_percent", PERCENT),
    Measure("memory_used_bytes", "Memory in use.", "memory_used_bytes"),
    Measure("memory_total_bytes", "Memory.", "memory_total_bytes"),
    Measure("power_watts", "Power drawn.", "power_milliwatts", MILLI),
    Measure("temperature_celsius", "Temperature of the GPU.", "temperature_celsius"),
    Measure("sm_clock_hertz", "Clock of the multiprocessors.", "sm_clock_megahertz", MEGA),
)
OF_DETAILS: Final = (
    Measure("memory_reserved_bytes", "Memory that the driver keeps.", "memory_reserved_bytes"),
    Measure(
        "memory_controller_ratio",
        "Share of time in which memory was read or written.",
        "memory_controller_percent",
        PERCENT,
    ),
    Measure("encoder_ratio", "Share of time in use.", "encoder_percent", PERCENT),
    Measure("decoder_ratio", "Share of time in use.", "decoder_percent", PERCENT),
    Measure("power_limit_watts", "Power limit in force.", "power_limit_milliwatts", MILLI),
    Measure(
        "energy_joules",
        "Energy since the driver was loaded.",
        "energy_millijoules",
        MILLI,
        CounterMetricFamily,
    ),
    Measure(
        "memory_temperature_celsius", "Temperature of the memory.", "memory_temperature_celsius"
    ),
    Measure("memory_clock_hertz", "Clock of the memory.", "memory_clock_megahertz", MEGA),
    Measure("fan_ratio", "Speed of the fan.", "fan_percent", PERCENT),
    Measure(
        "ecc_corrected_errors",
        "Memory errors that were corrected since the driver was loaded.",
        "ecc_corrected_errors",
        kind=CounterMetricFamily,
    ),
    Measure(
        "ecc_uncorrected_errors",
        "Memory errors that were not corrected since the driver was loaded.",
        "ecc_uncorrected_errors",
        kind=CounterMetricFamily,
    ),
    Measure("pcie_lanes", "Width of the PCIe link.", "pcie_lanes"),
    Measure("pcie_generation", "Generation of the PCIe link.", "pcie_generation"),
    Measure(
        "pcie_replays",
        "Packets that had to be sent again since the driver was loaded.",
        "pcie_replays",
        kind=CounterMetricFamily,
    ),
    Measure("processes", "Processes on it.", "process_count"),
)


class DeviceMeasures(Collector):
    """Shows the sample that it was given last. Safe between threads."""

    def __init__(self) -> None:
        self._sample: Sample | None = None

    def show(self, sample: Sample | None) -> None:
        """Take the newest sample; `None`: nothing is known."""
        self._sample = sample

    def collect(self) -> Iterator[Metric]:
        sample = self._sample
        readings = {(one.device, one.uuid): one for one in sample.readings} if sample else {}
        details = {
            labels: sample.details[labels[0]]
            for labels in readings
            if sample and labels[0] in sample.details
        }
        for measure in OF_READINGS:
            yield measure.of(readings)
        for measure in OF_DETAILS:
            yield measure.of(details)
        yield _clock_limits(details)


def _clock_limits(details: Mapping[tuple[str, str], Details]) -> Metric:
    family = GaugeMetricFamily(
        f"{PREFIX}clock_limit",
        "1 for each reason why clocks are not higher.",
        labels=(*OF_DEVICE, "reason"),
    )
    for labels, one in details.items():
        for reason in one.clock_limits or ():
            family.add_metric((*labels, reason), 1)
    return family


DEVICES: Final = DeviceMeasures()
prometheus_client.REGISTRY.register(DEVICES)
