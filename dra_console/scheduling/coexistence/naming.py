"""The names in a sentence about a finding: of whom a reader may know, and how many others."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from dra_console.scheduling.coexistence.findings import ClaimRef, PodRef

NAMED_IN_A_SENTENCE: Final = 3


@dataclass(frozen=True, slots=True)
class Named:
    """A finding's names, as far as they may be said, and its facts."""

    claims: tuple[ClaimRef, ...]
    hidden: int
    pods: tuple[PodRef, ...]
    pool: str
    device: str
    facts: Mapping[str, str]

    @property
    def claim(self) -> str:
        """Name the one claim that the finding is about."""
        return f"{self.claims[0].namespace}/{self.claims[0].name}" if self.claims else "a claim"

    @property
    def everyone(self) -> str:
        """Name all claims, those of other namespaces by their number."""
        names = list(dict.fromkeys(f"{one.namespace}/{one.name}" for one in self.claims))
        shown, more = names[:NAMED_IN_A_SENTENCE], len(names) - NAMED_IN_A_SENTENCE
        if more > 0:
            shown.append(f"{more} more")
        if self.hidden:
            shown.append(
                "a claim of another namespace"
                if self.hidden == 1
                else f"{self.hidden} claims of other namespaces"
            )
        return listed(shown)


def counted(amount: str, noun: str) -> str:
    """Put a number before a noun, in the singular for `1`."""
    return f"{amount} {noun}" if amount == "1" else f"{amount} {noun}s"


def listed(names: Sequence[str]) -> str:
    """Join names as a sentence does."""
    *others, last = names or [""]
    return f"{', '.join(others)} and {last}" if others else last
