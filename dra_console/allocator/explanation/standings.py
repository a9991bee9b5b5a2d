"""Devices counted by verdict, as one request sees those of one node or of all.

`Tally` counts devices by kind and state of use, so counting a fleet means adding up classes.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from dra_console.allocator.explanation.verdicts import RANKS, Judgement, Verdict
from dra_console.allocator.model import ALL_DEVICES
from dra_console.allocator.search.wants import Want

MATCHED: Final = frozenset(
    {
        Verdict.TAINTED,
        Verdict.TAKEN,
        Verdict.CONSTRAINT,
        Verdict.COUNTERS,
        Verdict.NODE_FILTER,
        Verdict.FREE,
    }
)


@dataclass(frozen=True, slots=True)
class Standing:
    """Devices by verdict, as one want sees them."""

    want: Want
    counts: Mapping[Verdict, int]
    examples: Mapping[Verdict, str]
    """Evidence of the first device with the verdict."""

    @property
    def matched(self) -> int:
        """Devices of the class that pass the selectors."""
        return sum(self.counts.get(verdict, 0) for verdict in MATCHED)

    @property
    def free(self) -> int:
        return self.counts.get(Verdict.FREE, 0)

    @property
    def wanted(self) -> int:
        """Devices that it takes; in mode All every one that matches, and at least one."""
        wish = self.want.wish
        return max(self.matched, 1) if wish.allocation_mode == ALL_DEVICES else wish.count

    @property
    def is_enough(self) -> bool:
        return self.free >= self.wanted

    @property
    def furthest(self) -> Verdict:
        """The verdict nearest to `free` among the devices that are not free."""
        held_up = [each for each, count in self.counts.items() if count and each != Verdict.FREE]
        return max(held_up, key=RANKS.__getitem__, default=Verdict.CLASS_MISMATCH)


def standing_of(want: Want, judged: Iterable[tuple[Judgement, int]]) -> Standing:
    """Count the verdicts that so many devices each got for one want."""
    counts: Counter[Verdict] = Counter()
    examples: dict[Verdict, str] = {}
    for judgement, devices in judged:
        counts[judgement.verdict] += devices
        examples.setdefault(judgement.verdict, judgement.evidence)
    return Standing(want, counts, examples)
