"""How the writing of a plan ends. Each outcome has the claims as they are known to be now."""

from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from dra_console.allocator.model import JsonObject


@dataclass(frozen=True, slots=True)
class Written:
    """Everything is written: the pod is bound, or the claims are reserved ahead."""

    claims: tuple[JsonObject, ...]
    """All claims of the plan, as the API server has them."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """Allocated and reserved; the devices are being prepared (binding conditions, KEP-5007).

    Write the plan again once a claim has changed, or at `until` at the latest.
    """

    claims: tuple[JsonObject, ...]
    """All claims of the plan, as the API server has them."""

    reason: str
    until: datetime
    """When the time for the preparation is over."""

    is_new: bool = False
    """It waits since this write."""


@dataclass(frozen=True, slots=True)
class Dropped:
    """The plan did not hold at the API server; what was written of it is undone. Plan anew."""

    reason: str
    claims: tuple[JsonObject, ...] = ()
    """Those that are known to be different from what was planned with."""

    gave_back: bool = False
    """Devices were not prepared, in time or at all, and were given back: back off."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The API server will say no again until somebody changes something; undone likewise.

    `reason` says what: a permission that is missing, or a limit that is reached.
    """

    reason: str
    claims: tuple[JsonObject, ...] = ()
    """Those that are known to be different from what was planned with."""


@dataclass(frozen=True, slots=True)
class Failed:
    """The API server failed or is busy; what was written stands, and the next run goes on."""

    reason: str
    retry_after_seconds: float
    claims: tuple[JsonObject, ...] = ()
    """Those that are known to be different from what was planned with; none in doubt."""

    doubtful: tuple[str, ...] = ()
    """UIDs of claims whose allocation may be written or not, for the answer was lost.

    Their devices are in use, and no plan may be made with them, until `notes.settle` has
    decided. It decides as soon as the API server answers.
    """


WriteOutcome: TypeAlias = Written | Waiting | Dropped | Refused | Failed
