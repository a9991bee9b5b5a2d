"""The choices that a search makes, with what is left to try of each."""

from collections.abc import Hashable
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from dra_console.allocator.search.asks import Ask
from dra_console.allocator.search.pruning import Situation


@dataclass(slots=True)
class DeviceChoice:
    """The choice of device `number` of an ask; `next` is the place of the first not yet tried."""

    claim: int
    request: int
    ask: Ask
    number: int
    next: int
    place: int = -1
    """Of the device that is taken."""

    failed: set[Hashable] | None = None
    """Kinds of devices that failed."""


@dataclass(slots=True)
class AlternativeChoice:
    """The choice among a request's alternatives; `next` is the first one not yet tried."""

    claim: int
    request: int
    next: int = 0
    over_limit: int = 0
    """Alternatives that would have exceeded the claim's limit of devices."""

    situation: Situation | None = None


class Opening(Enum):
    """What comes of going on, where it is not another choice."""

    SOLVED = "solved"
    DEAD_END = "dead end"
    OVER_LIMIT = "over limit"


Choice: TypeAlias = DeviceChoice | AlternativeChoice
