"""What one device tells beyond its readings, and whose processes use it."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rest_framework import serializers
from rest_framework.fields import BooleanField, CharField, IntegerField, ListField

from dra_console.access import rules
from dra_console.kube.kinds import PODS
from dra_console.mirror.models import Cluster
from dra_console.mirror.pod_names import PodName, pod_names
from dra_console.telemetry.details import DeviceProcess, ReportedDetails


@dataclass(frozen=True, slots=True)
class ProcessAnswer:
    """A process as one reader may see it."""

    process: DeviceProcess
    pod: PodName | None


@dataclass(frozen=True, slots=True)
class DetailsAnswer:
    """Details as one reader may see them."""

    reported: ReportedDetails
    processes: tuple[ProcessAnswer, ...] | None


def details_answer(
    reported: ReportedDetails | None, *, account: rules.Account, cluster: Cluster, node_name: str
) -> DetailsAnswer | None:
    """Leave out whose a process is where the reader may not list pods.

    Raises:
        RightsUnknownError: the API server could not be asked.

    """
    if reported is None:
        return None
    processes = reported.details.processes
    uids = {one.pod_uid for one in processes or () if one.pod_uid}
    pods = pod_names(cluster, node_name, uids)
    visible = rules.visible_namespaces(account, cluster, PODS) if uids else None
    return DetailsAnswer(
        reported=reported,
        processes=None
        if processes is None
        else tuple(_process(one, pods=pods, visible=visible) for one in processes),
    )


def _process(
    process: DeviceProcess, *, pods: Mapping[str, PodName], visible: Collection[str] | None
) -> ProcessAnswer:
    pod = pods.get(process.pod_uid or "")
    is_seen = pod is not None and (visible is None or pod.namespace in visible)
    return ProcessAnswer(process=process, pod=pod if is_seen else None)


class ProcessSerializer(serializers.Serializer[Any]):
    """One process; its pod is null if it has none, or is none that you may list."""

    pid = IntegerField(source="process.pid")
    memoryUsedBytes = IntegerField(source="process.memory_used_bytes", allow_null=True)
    inPod = serializers.SerializerMethodField(help_text="False: a process of the host.")
    podNamespace = CharField(source="pod.namespace", default=None, allow_null=True)
    podName = CharField(source="pod.name", default=None, allow_null=True)

    def get_inPod(self, answer: ProcessAnswer) -> bool:
        """Say whether it is of any pod."""
        return answer.process.pod_uid is not None


class ValuesSerializer(serializers.Serializer[Any]):
    """Limits, counters and clocks; null where the board or its driver reports nothing."""

    memoryReservedBytes = IntegerField(source="memory_reserved_bytes", allow_null=True)
    memoryControllerPercent = IntegerField(source="memory_controller_percent", allow_null=True)
    encoderPercent = IntegerField(source="encoder_percent", allow_null=True)
    decoderPercent = IntegerField(source="decoder_percent", allow_null=True)
    bar1UsedBytes = IntegerField(source="bar1_used_bytes", allow_null=True)
    bar1TotalBytes = IntegerField(source="bar1_total_bytes", allow_null=True)
    powerLimitMilliwatts = IntegerField(source="power_limit_milliwatts", allow_null=True)
    energyMillijoules = IntegerField(source="energy_millijoules", allow_null=True)
    memoryTemperatureCelsius = IntegerField(source="memory_temperature_celsius", allow_null=True)
    slowdownTemperatureCelsius = IntegerField(
        source="slowdown_temperature_celsius", allow_null=True
    )
    graphicsClockMegahertz = IntegerField(source="graphics_clock_megahertz", allow_null=True)
    memoryClockMegahertz = IntegerField(source="memory_clock_megahertz", allow_null=True)
    videoClockMegahertz = IntegerField(source="video_clock_megahertz", allow_null=True)
    smClockLimitMegahertz = IntegerField(source="sm_clock_limit_megahertz", allow_null=True)
    clockLimits = ListField(
        child=CharField(),
        source="clock_limits",
        allow_null=True,
        help_text="Why clocks are not higher, as in `power-cap`; empty: nothing holds them back.",
    )
    performanceState = IntegerField(source="performance_state", allow_null=True)
    fanPercent = IntegerField(source="fan_percent", allow_null=True)
    eccCorrectedErrors = IntegerField(source="ecc_corrected_errors", allow_null=True)
    eccUncorrectedErrors = IntegerField(source="ecc_uncorrected_errors", allow_null=True)
    eccCorrectedErrorsEver = IntegerField(source="ecc_corrected_errors_ever", allow_null=True)
    eccUncorrectedErrorsEver = IntegerField(source="ecc_uncorrected_errors_ever", allow_null=True)
    remappedRowsCorrected = IntegerField(source="remapped_rows_corrected", allow_null=True)
    remappedRowsUncorrected = IntegerField(source="remapped_rows_uncorrected", allow_null=True)
    isRowRemapPending = BooleanField(source="is_row_remap_pending", allow_null=True)
    hasRowRemapFailed = BooleanField(source="has_row_remap_failed", allow_null=True)
    hasRetiredPagesPending = BooleanField(source="has_retired_pages_pending", allow_null=True)
    pcieGeneration = IntegerField(source="pcie_generation", allow_null=True)
    pcieLanes = IntegerField(source="pcie_lanes", allow_null=True)
    pcieReplays = IntegerField(source="pcie_replays", allow_null=True)
    recoveryAction = CharField(
        source="recovery_action",
        allow_null=True,
        help_text="What the driver recommends, as in `gpu-reset`; `none` is an answer, too.",
    )
    processCount = IntegerField(source="process_count", allow_null=True)


class DetailsSerializer(serializers.Serializer[Any]):
    """What comes every 10 s, processes every 30 s."""

    ageSeconds = serializers.SerializerMethodField()
    isStale = serializers.SerializerMethodField()
    values = ValuesSerializer(source="reported.details")
    processes = ProcessSerializer(
        many=True, allow_null=True, help_text="64 at most, those with the most memory."
    )

    def get_ageSeconds(self, answer: DetailsAnswer) -> float:
        """Say how long ago they came in."""
        now: datetime = self.context["now"]
        return round((now - answer.reported.received_at).total_seconds(), 1)

    def get_isStale(self, answer: DetailsAnswer) -> bool:
        """Say whether they are too old to trust."""
        return answer.reported.is_stale(self.context["now"])
