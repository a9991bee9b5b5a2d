"""An explanation for people: plain text in columns, for a terminal, `less` or a ticket.

Nothing is said by colour, and nothing depends on the terminal but the width. What comes
from the dump may hold control characters that a terminal would obey, so they are written
out.
"""

import re
import textwrap
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final

from dra_console.allocator.command.folding import fold_devices, fold_nodes, some
from dra_console.allocator.command.holdings import Holdings
from dra_console.allocator.command.inquiries import Inquiry
from dra_console.allocator.explanation.explanation import (
    ExplainedOutcome,
    Explanation,
)

OUTCOME_WORDS: Final = {
    ExplainedOutcome.DOES_NOT_FIT: "DOES NOT FIT",
    ExplainedOutcome.BROKEN: "BROKEN",
    ExplainedOutcome.BUDGET: "NO ANSWER",
}
NOT_FOR_DEVICES: Final = (
    "So it does not wait for devices. Look at the pod's events: the node may be short of CPU or "
    "memory or have taints, or kube-scheduler has not come to it yet."
)
NODE_GROUPS_SHOWN: Final = 12
DEVICE_GROUPS_SHOWN: Final = 4
"""For each verdict."""

UNPRINTABLE: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]"
)
"""Control characters, and those that turn the direction of writing."""


def printable(text: str) -> str:
    """Write control characters as escapes, line ends and tabs excepted."""
    return UNPRINTABLE.sub(lambda match: ascii(match[0])[1:-1], text)


def report(
    inquiry: Inquiry, explanation: Explanation | None, holdings: Holdings, *, width: int
) -> Iterator[str]:
    """Write one explanation, line by line; without one, it has no claim that could be."""
    yield from headline(inquiry, explanation, width=width)
    if explanation is not None and inquiry.is_waiting:
        yield from wrapped(explanation.detail, width, indent=2)
    for note in inquiry.notes:
        yield from wrapped(note, width, indent=2)
    if _waits_though_it_fits(inquiry, explanation):
        yield from wrapped(NOT_FOR_DEVICES, width, indent=2)
    for claim in inquiry.claims:
        lines = (wrapped(line, width, indent=4) for line in holdings.lines(claim))
        yield from _section(f"Claim {claim.key} has", chain.from_iterable(lines))
    if explanation is not None and inquiry.is_waiting:
        yield from _section("Nodes", _nodes(explanation, width))
        yield from _section("Devices", _devices(explanation, width))
        yield from _section("What would help (each was tried)", _help(explanation, width))


def headline(inquiry: Inquiry, explanation: Explanation | None, *, width: int) -> Iterator[str]:
    """Write what was asked and the answer in one sentence."""
    yield from wrapped(_title(inquiry), width)
    for refused in inquiry.refused:
        yield from wrapped(f"BROKEN: {refused}", width, indent=2)
    for missing in inquiry.missing:
        yield from wrapped(f"DOES NOT FIT: {missing}", width, indent=2)
    if explanation is not None:
        yield from wrapped(f"{_state(explanation)}{explanation.headline}", width, indent=2)


def _waits_though_it_fits(inquiry: Inquiry, explanation: Explanation | None) -> bool:
    fits = explanation is not None and explanation.outcome is ExplainedOutcome.FITS
    return fits and inquiry.is_waiting and inquiry.pod is not None and not inquiry.notes


def _state(explanation: Explanation) -> str:
    """Name the outcome where the headline, which begins with it otherwise, does not."""
    word = OUTCOME_WORDS.get(explanation.outcome)
    return f"{word}: " if word else ""


def _title(inquiry: Inquiry) -> str:
    if not inquiry.alike:
        return inquiry.title
    others = _counted(inquiry.alike, "other claim" if inquiry.pod is None else "other pod")
    return f"{inquiry.title} (and {others} that {'asks' if inquiry.alike == 1 else 'ask'} the same)"


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    lines = list(lines)
    if lines:
        yield ""
        yield f"  {title}"
        yield from lines


def _nodes(explanation: Explanation, width: int) -> Iterator[str]:
    groups = fold_nodes(explanation.nodes)
    for group in groups[:NODE_GROUPS_SHOWN]:
        yield from wrapped(f"{some(group.names)}: {group.summary}", width, indent=4)
    rest = sum(len(group.names) for group in groups[NODE_GROUPS_SHOWN:])
    if rest:
        yield f"    and {_counted(rest, 'more node')}"


def _devices(explanation: Explanation, width: int) -> Iterator[str]:
    for verdict, groups in fold_devices(explanation.verdicts).items():
        total = sum(len(group.devices) for group in groups)
        yield f"    {verdict.value}: {total}"
        for group in groups[:DEVICE_GROUPS_SHOWN]:
            text = f"{some(group.devices)}: {group.evidence}"
            yield from wrapped(text, width, indent=6)
        rest = sum(len(group.devices) for group in groups[DEVICE_GROUPS_SHOWN:])
        if rest:
            yield f"      and {_counted(rest, 'more device')}"


def _help(explanation: Explanation, width: int) -> Iterator[str]:
    for each in explanation.suggestions:
        holder = f" ({each.holder.key})" if each.holder else ""
        yield from wrapped(f"{each.text}{holder}: {each.detail}", width, indent=4, mark="- ")


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def wrapped(text: str, width: int, *, indent: int = 0, mark: str = "") -> list[str]:
    """Break a text into lines; those after the first are indented further."""
    space = " " * indent
    return textwrap.wrap(
        printable(text),
        width,
        initial_indent=f"{space}{mark}",
        subsequent_indent=f"{space}{' ' * (len(mark) or 2)}",
        break_long_words=False,
        break_on_hyphens=False,
    )
