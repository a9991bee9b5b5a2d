"""The health of one GPU at this moment, as its driver sees it (node-agent.md 6.1, 6.3, 6.4)."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pynvml

from nodeagent.devices.events import RecoveryAction, RowRemap, Vitals
from nodeagent.devices.nodes import missing_nodes
from nodeagent.devices.nvml.calls import Calls, GpuLostError, field_value, refuse_without_driver

RECOVERY_ACTION_FIELD: Final = 230
TOO_HOT: Final = 0x40
"""The hardware's own thermal slowdown among the reasons for the present clocks."""


@dataclass(slots=True)
class Physician:
    """Looks at GPUs, and remembers of each how many looks in a row failed unexplained.

    A question that fails says nothing of a GPU: what only a reset can end stays as it was told.
    """

    calls: Calls
    dev: Path
    _unknown_errors: dict[str, int] = field(default_factory=dict)
    _advised: dict[str, RecoveryAction | None] = field(default_factory=dict)

    def look_at(
        self, uuid: str, minor: int, handle: object, *, is_monitored: bool | None
    ) -> Vitals:
        """Ask for everything that tells of trouble.

        Raises:
            NoDriverError: the whole driver is gone.
            DriverChangedError: it was replaced.

        """
        nodes = missing_nodes(self.dev, minor)
        code = probe(handle)
        try:
            if code != pynvml.NVML_ERROR_GPU_IS_LOST:
                return self._asked(uuid, handle, code, is_monitored=is_monitored, nodes=nodes)
        except GpuLostError:
            pass  # Lost between the probe and the questions.
        return Vitals(
            gpu_uuid=uuid,
            age_seconds=0.0,
            is_lost=True,
            is_monitored=is_monitored,
            missing_nodes=nodes,
        )

    def _asked(
        self,
        uuid: str,
        handle: object,
        code: int,
        *,
        is_monitored: bool | None,
        nodes: tuple[str, ...],
    ) -> Vitals:
        def ask(name: str, call: Callable[[], Any]) -> Any:  # noqa: ANN401 - pynvml is untyped
            return self.calls.lasting(uuid, name, call)

        failures = self._unknown_errors.get(uuid, 0) + 1
        self._unknown_errors[uuid] = failures if code == pynvml.NVML_ERROR_UNKNOWN else 0
        modes = ask("mig mode", lambda: pynvml.nvmlDeviceGetMigMode(handle))
        reasons = self.calls.optional(
            uuid, "clocks", lambda: pynvml.nvmlDeviceGetCurrentClocksEventReasons(handle)
        )
        retired = ask(
            "retired pages", lambda: pynvml.nvmlDeviceGetRetiredPagesPendingStatus(handle)
        )
        return Vitals(
            gpu_uuid=uuid,
            age_seconds=0.0,
            is_lost=False,
            is_monitored=is_monitored,
            needs_reset=code == pynvml.NVML_ERROR_RESET_REQUIRED,
            recovery_action=self._advice(uuid, handle),
            row_remap=ask("row remap", lambda: _row_remap(handle)),
            ecc_corrected=ask("corrected ecc", lambda: _ecc(handle, corrected=True)),
            ecc_uncorrected=ask("uncorrected ecc", lambda: _ecc(handle, corrected=False)),
            has_retired_pages_pending=bool(retired) if retired is not None else None,
            is_mig_mode_pending=modes[0] != modes[1] if modes else None,
            is_hot=bool(reasons & TOO_HOT) if reasons is not None else None,
            unknown_errors=self._unknown_errors[uuid],
            missing_nodes=nodes,
        )

    def _advice(self, uuid: str, handle: object) -> RecoveryAction | None:
        try:
            self._advised[uuid] = self.calls.offered(
                uuid, "recovery action", lambda: recovery_action(handle)
            )
        except pynvml.NVMLError:
            # That there was nothing to do says nothing of what came since.
            before = self._advised.get(uuid)
            return None if before is RecoveryAction.NONE else before
        return self._advised[uuid]


def probe(handle: object) -> int:
    """Return the worst code of two cheap calls, of which one must reach the hardware."""
    questions: tuple[tuple[Callable[..., object], tuple[object, ...]], ...] = (
        (pynvml.nvmlDeviceGetUUID, (handle,)),
        (pynvml.nvmlDeviceGetTemperature, (handle, pynvml.NVML_TEMPERATURE_GPU)),
    )
    for question, arguments in questions:
        try:
            question(*arguments)
        except pynvml.NVMLError as error:
            refuse_without_driver(error)
            if error.value != pynvml.NVML_ERROR_NOT_SUPPORTED:
                code: int = error.value
                return code
    return 0


def recovery_action(handle: object) -> RecoveryAction:
    """Ask what the driver recommends to bring the GPU back.

    Raises:
        pynvml.NVMLError: it does not say.

    """
    number = field_value(handle, RECOVERY_ACTION_FIELD)
    known = frozenset(action.value for action in RecoveryAction)
    return RecoveryAction(number) if number in known else RecoveryAction.UNKNOWN


def _row_remap(handle: object) -> RowRemap:
    corrected, uncorrected, pending, failed = pynvml.nvmlDeviceGetRemappedRows(handle)
    return RowRemap(
        corrected=corrected,
        uncorrected=uncorrected,
        is_pending=bool(pending),
        has_failed=bool(failed),
    )


def _ecc(handle: object, *, corrected: bool) -> int:
    kind = (
        pynvml.NVML_MEMORY_ERROR_TYPE_CORRECTED
        if corrected
        else pynvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED
    )
    errors: int = pynvml.nvmlDeviceGetTotalEccErrors(handle, kind, pynvml.NVML_VOLATILE_ECC)
    return errors
