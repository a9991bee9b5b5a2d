"""What the scheduling backend remembers: attempts, writes not seen yet, conflicts and turns."""

from dra_console.scheduling.models.attempts import Attempt, KeptExplanation, Outcome, TriedClaim
from dra_console.scheduling.models.conflicts import Conflict, ConflictCheck
from dra_console.scheduling.models.turns import Turn
from dra_console.scheduling.models.written import WrittenAllocation

__all__ = [
    "Attempt",
    "Conflict",
    "ConflictCheck",
    "KeptExplanation",
    "Outcome",
    "TriedClaim",
    "Turn",
    "WrittenAllocation",
]
