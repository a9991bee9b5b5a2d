"""What each verdict takes off all devices: the funnel of an explanation, and its sum in words."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

FULL_HEIGHT: Final = 44
"""Of a funnel bar, in the units of its view box."""

STEPS: Final = (
    ("class-mismatch", "class", "of another class"),
    ("selector-error", "readable", "made a selector fail"),
    ("selector-mismatch", "selectors", "do not match"),
    ("tainted", "healthy", "tainted"),
    ("taken", "free", "held"),
    ("constraint", "comparable", "lack a constrained attribute"),
    ("counters", "room left", "overlap with held partitions"),
    ("node-filter", "node", "on nodes that it cannot use"),
)
"""Verdict, what the devices left after it have in common, what those that it took are.

In the order of `allocator.explanation.verdicts.Verdict`, so that each step leaves what the next
looks at.
"""

ALWAYS_SHOWN: Final = frozenset({"class-mismatch", "selector-mismatch", "tainted", "taken"})


@dataclass(frozen=True, slots=True)
class FunnelStep:
    """What is left after one step."""

    left: int
    label: str
    lost: str
    bar_height: float
    """In `FULL_HEIGHT` units."""

    bar_top: float
    is_end: bool
    """The step that leaves nothing."""


def funnel_of(
    counts: Mapping[str, int], together: Mapping[str, Any] | None
) -> tuple[FunnelStep, ...]:
    """Draw the counts by verdict; `together` says why what is free is not enough."""
    considered = counts["considered"]
    steps = [_step(considered, considered, label=_noun(considered), lost="considered")]
    left = considered
    for verdict, label, lost in STEPS:
        taken_away = counts[verdict]
        left -= taken_away
        if taken_away or verdict in ALWAYS_SHOWN:
            steps.append(_step(left, considered, label=label, lost=f"{taken_away} {lost}"))
    if together is not None:
        steps.append(_step(0, considered, label="fit together", lost=together["limit"]))
    return tuple(steps)


def sum_in_words(counts: Mapping[str, int]) -> str:
    """Add the verdicts up to all devices."""
    parts = [count for verdict, count in counts.items() if verdict != "considered" and count]
    return f"{' + '.join(map(str, parts)) or '0'} = {counts['considered']}"


def _noun(considered: int) -> str:
    return "device" if considered == 1 else "devices"


def _step(left: int, considered: int, *, label: str, lost: str) -> FunnelStep:
    height = FULL_HEIGHT * left / considered if considered else 0
    if left:
        height = max(height, 2.0)
    return FunnelStep(
        left=left,
        label=label,
        lost=lost,
        bar_height=round(height, 1),
        bar_top=round(FULL_HEIGHT - height, 1),
        is_end=left == 0,
    )
