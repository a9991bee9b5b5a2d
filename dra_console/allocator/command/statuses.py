"""Exit statuses, and which one stands for several answers."""

from collections.abc import Iterable
from enum import IntEnum
from types import MappingProxyType
from typing import Final

from dra_console.allocator.explanation.explanation import ExplainedOutcome


class ExitStatus(IntEnum):
    """How the command ends, for scripts."""

    FITS = 0
    DOES_NOT_FIT = 1
    BROKEN_INPUT = 2
    BUDGET = 3
    FAILURE = 70
    """The command itself is at fault; 70 is what `sysexits.h` calls an internal error."""


OF_OUTCOME: Final = MappingProxyType(
    {
        ExplainedOutcome.FITS: ExitStatus.FITS,
        ExplainedOutcome.DOES_NOT_FIT: ExitStatus.DOES_NOT_FIT,
        ExplainedOutcome.BROKEN: ExitStatus.BROKEN_INPUT,
        ExplainedOutcome.BUDGET: ExitStatus.BUDGET,
    }
)
SEVERITY: Final = (
    ExitStatus.FITS,
    ExitStatus.DOES_NOT_FIT,
    ExitStatus.BUDGET,
    ExitStatus.BROKEN_INPUT,
)
"""What is not known outweighs what does not fit, and broken input outweighs both."""


def worst(statuses: Iterable[ExitStatus]) -> ExitStatus:
    """Pick the status that a script has to know of; nothing asked means that all is well."""
    return max(statuses, key=SEVERITY.index, default=ExitStatus.FITS)
