"""What only our allocator is asked, with nothing to compare with but a bound."""

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.table import Row


@dataclass(frozen=True, slots=True)
class Question:
    """One row to be; `answer` takes the seconds for which to repeat each figure."""

    id: str
    title: str
    answer: Callable[["Question", float], Row]

    @property
    def key(self) -> str:
        return f"{self.id} {self.title}"

    def measure(self, seconds: float) -> Row:
        """Ask and time it."""
        return self.answer(self, seconds)
