"""What differs between two attempts, in words."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from dra_console.kube.kinds import BY_PLURAL
from dra_console.mirror.models import ObjectChange
from dra_console.scheduling.attempts.comparison import (
    Comparison,
    NodeChange,
    ReasonChange,
    Standing,
)
from dra_console.scheduling.models import Outcome
from dra_console.web.presenters.attempts import SIGNS
from dra_console.web.presenters.node_verdicts import NO_NODE
from dra_console.web.presenters.verdict_tiles import VERDICTS
from dra_console.web.wording import counted

NAMES_SHOWN: Final = 6
TEXT_SHOWN: Final = 200
LABELS: Final = {"outcome": "Outcome", "headline": "Sentence", "node": "Where it fits"}


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that differs; `change` says in a word how: new, gone or changed."""

    what: str
    detail: str
    before: str
    after: str
    change: str


@dataclass(frozen=True, slots=True)
class Section:
    """Differences of one kind."""

    title: str
    differences: tuple[Difference, ...]


@dataclass(frozen=True, slots=True)
class ChangeLine:
    """What happened to an object between two attempts."""

    at: datetime
    kind: str
    name: str
    happened: str


def comparison_lines(comparison: Comparison) -> tuple[Section, ...]:
    """Say what differs, section by section; sections without a difference are left out."""
    sections = (
        Section(
            "What is said",
            tuple(
                _difference(
                    LABELS[each.name],
                    _said(each.name, each.before),
                    _said(each.name, each.after),
                )
                for each in comparison.sentences
            ),
        ),
        Section("Devices, by reason", tuple(map(_reason, comparison.reasons))),
        Section("Nodes", tuple(map(_node, comparison.nodes))),
        Section(
            "Who holds devices that would do",
            tuple(
                _difference(each.claim, _count(each.before), _count(each.after))
                for each in comparison.holders
            ),
        ),
        Section(
            "What would make it fit",
            (
                *(_difference(text, "", "suggested") for text in comparison.advice_new),
                *(_difference(text, "suggested", "") for text in comparison.advice_gone),
            ),
        ),
    )
    return tuple(section for section in sections if section.differences)


def change_lines(changes: Iterable[ObjectChange]) -> tuple[ChangeLine, ...]:
    """Say which objects changed, in their order."""
    return tuple(
        ChangeLine(
            at=change.seen_at,
            kind=BY_PLURAL[change.plural].kind,
            name=f"{change.namespace}/{change.name}" if change.namespace else change.name,
            happened=change.happened,
        )
        for change in changes
    )


def _difference(what: str, before: str, after: str, *, detail: str = "") -> Difference:
    change = "changed" if before and after else "new" if after else "gone"
    return Difference(what, detail[:TEXT_SHOWN], before, after, change)


def _said(name: str, text: str) -> str:
    return SIGNS[text].label if name == "outcome" and text in set(Outcome.values) else text


def _reason(change: ReasonChange) -> Difference:
    word, _, _ = VERDICTS[change.reason.verdict]
    return _difference(
        word, _count(change.before), _count(change.after), detail=change.reason.evidence
    )


def _node(change: NodeChange) -> Difference:
    names = [name or NO_NODE for name in change.names]
    more = len(names) - NAMES_SHOWN
    words = ", ".join(names[:NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")
    return _difference(words, _standing(change.before), _standing(change.after))


def _standing(standing: Standing | None) -> str:
    return "" if standing is None else f"{standing.reason}: {standing.summary}"


def _count(devices: int) -> str:
    return counted(devices, "device") if devices else ""
