"""What the scheduling backend remembers: attempts, and writes not yet seen again."""

from dra_console.scheduling.models.attempts import Attempt
from dra_console.scheduling.models.written import WrittenAllocation

__all__ = ["Attempt", "WrittenAllocation"]
