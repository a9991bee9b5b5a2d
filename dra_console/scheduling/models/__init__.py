"""What the scheduling backend remembers: attempts, writes not yet seen again, and turns."""

from dra_console.scheduling.models.attempts import Attempt, Outcome
from dra_console.scheduling.models.turns import Turn
from dra_console.scheduling.models.written import WrittenAllocation

__all__ = ["Attempt", "Outcome", "Turn", "WrittenAllocation"]
