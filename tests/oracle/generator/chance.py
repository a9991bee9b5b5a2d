"""Random choices that read as sentences in the generators, and repeat for a seed."""

from collections.abc import Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")


class Chance(Random):
    """A seeded source of choices."""

    def maybe(self, probability: float) -> bool:
        """Answer yes in this share of all cases."""
        return self.random() < probability

    def between(self, least: int, most: int) -> int:
        """Pick a whole number, both ends included."""
        return least + int(self.random() * (most - least + 1))

    def pick(self, options: Sequence[T]) -> T:
        """Pick one."""
        return options[int(self.random() * len(options))]

    def some(self, options: Sequence[T], *, least: int = 0, most: int | None = None) -> list[T]:
        """Pick several different ones, in the order given."""
        limit = len(options) if most is None else min(most, len(options))
        picked = set(self.sample(range(len(options)), self.between(min(least, limit), limit)))
        return [option for index, option in enumerate(options) if index in picked]

    def shuffled(self, options: Sequence[T]) -> list[T]:
        """Return all in another order."""
        return self.sample(options, len(options))
