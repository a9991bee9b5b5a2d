"""What is to be said against a GPU, and how much each of it weighs (node-agent.md 6.3, 6.5).

A finding becomes a taint of the device and a part of its status; the grade says what of both.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from types import MappingProxyType
from typing import Final

from nodeagent.devices.events import RecoveryAction, Vitals
from nodeagent.devices.taint import Effect, Taint
from nodeagent.health.report import Status

SILENT_SECONDS: Final = 20.0
"""So long may the driver owe an answer; then nothing that it said before counts as true."""

UNKNOWN_ERRORS: Final = 3
"""So many unexplained failures in a row are a fault of the GPU."""


class Grade(IntEnum):
    """How much a finding weighs, the least first."""

    INFORMS = 0
    """The device works, and somebody should know."""

    UNWATCHED = 1
    """Trouble would not be told of."""

    BLIND = 2
    """Nobody can say how the device is, and claims would find out."""

    SUSPENDED = 3
    """Claims have to stay away until somebody has done something; pods may finish."""

    FATAL = 4
    """The hardware cannot be trusted."""


STATUS_OF: Final = MappingProxyType(
    {
        Grade.INFORMS: Status.HEALTHY,
        Grade.UNWATCHED: Status.UNKNOWN,
        Grade.BLIND: Status.UNKNOWN,
        Grade.SUSPENDED: Status.UNHEALTHY,
        Grade.FATAL: Status.UNHEALTHY,
    }
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is not as it should be."""

    key: str
    """Name of the taint below the driver's domain."""

    value: str
    grade: Grade
    text: str

    def taint(self, driver: str, *, fatal: Effect) -> Taint:
        """Return it as a taint; `fatal` is the effect of what cannot be trusted."""
        if self.grade is Grade.FATAL:
            effect = fatal
        elif self.grade in (Grade.BLIND, Grade.SUSPENDED):
            effect = Effect.NO_SCHEDULE
        else:
            effect = Effect.NONE
        return Taint(f"{driver}/{self.key}", self.value, effect)


NOT_YET: Final = "not looked at yet"
SILENT: Final = Finding(
    "unmonitored", "driver-silent", Grade.BLIND, f"no answer of the driver for {SILENT_SECONDS:g} s"
)


def without_driver(reason: str) -> Finding:
    """Say that there is no driver to ask."""
    return Finding("unmonitored", "no-driver", Grade.BLIND, f"no driver: {reason}")


def of_vitals(vitals: Vitals) -> Iterator[Finding]:
    """Yield what a GPU's vital signs say against it; what is not known says nothing."""
    if vitals.age_seconds >= SILENT_SECONDS:
        yield SILENT
    if vitals.is_lost:
        yield Finding("gpu-lost", "", Grade.FATAL, "the GPU has fallen off the bus")
    if vitals.unknown_errors >= UNKNOWN_ERRORS:
        text = "the driver fails with an unknown error (999)"
        yield Finding("driver-error", "999", Grade.FATAL, text)
    if vitals.is_monitored is False:
        text = "events of the driver do not arrive"
        yield Finding("unmonitored", "", Grade.UNWATCHED, text)
    if vitals.missing_nodes:
        text = f"device nodes missing: {' '.join(vitals.missing_nodes)}"
        yield Finding("device-nodes-missing", "", Grade.SUSPENDED, text)
    if vitals.is_mig_mode_pending:
        text = "a switch of MIG mode waits for a reset"
        yield Finding("mig-mode-pending", "", Grade.INFORMS, text)
    yield from _of_recovery(vitals)
    yield from _of_memory(vitals)


def _of_recovery(vitals: Vitals) -> Iterator[Finding]:
    action = vitals.recovery_action
    if action is RecoveryAction.RECOVER_IMEX_DOMAIN:
        text = "the IMEX domain of its NVLink fabric needs recovery"
        yield Finding("reset-required", _word(action), Grade.INFORMS, text)
    elif action not in (None, RecoveryAction.NONE):
        text = f"the driver recommends: {_word(action).replace('-', ' ')}"
        yield Finding("reset-required", _word(action), Grade.FATAL, text)
    elif vitals.needs_reset:
        text = "the driver refuses calls until a reset"
        yield Finding("reset-required", "", Grade.FATAL, text)


def _of_memory(vitals: Vitals) -> Iterator[Finding]:
    remap = vitals.row_remap
    if remap is not None and remap.has_failed:
        text = "no spare memory rows are left: replace the board"
        yield Finding("row-remap", "failed", Grade.FATAL, text)
    elif remap is not None and remap.is_pending:
        text = "memory rows wait for a reset to be replaced"
        yield Finding("row-remap", "pending", Grade.SUSPENDED, text)
    if vitals.has_retired_pages_pending:
        text = "memory pages wait for a reboot to be retired"
        yield Finding("ecc", "retired-pages-pending", Grade.SUSPENDED, text)
    if vitals.ecc_uncorrected:
        # An error before our start sends no event. Where the driver says that it needs no
        # recovery from it, the memory concerned is out of use already.
        is_over = vitals.recovery_action is RecoveryAction.NONE
        grade = Grade.INFORMS if is_over else Grade.FATAL
        text = "uncorrectable memory errors since the driver was loaded"
        yield Finding("ecc", "uncorrected", grade, text)


def _word(action: RecoveryAction | None) -> str:
    return "" if action is None else action.name.lower().replace("_", "-")
