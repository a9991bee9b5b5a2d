"""Why a claim waits, drawn: sentence, funnel, nodes from the nearest miss to the hopeless.

Reads what an Attempt stores (`allocator.explanation.folding`). The reader's rights are
applied here: a claim of a namespace that they may not see is `another namespace`. Only what
is drawn is unfolded: a few nodes of each group of alike ones.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from dra_console.access.redaction import redacted
from dra_console.allocator.explanation.unfolding import find_device, holders_of
from dra_console.web.presenters.advice import Advice, advice_of
from dra_console.web.presenters.funnel import FunnelStep, funnel_of, sum_in_words
from dra_console.web.presenters.node_verdicts import NodeVerdict, node_verdicts
from dra_console.web.presenters.reader import Reader
from dra_console.web.presenters.verdict_tiles import Drawing, VerdictTile

ROWS_DRAWN: Final = 60
TABLE_ROWS: Final = 500
"""Devices in the table; the page says how many there are beside them."""


@dataclass(frozen=True, slots=True)
class ShownExplanation:
    """Everything that the Explain part of the page draws."""

    outcome: str
    tone: str
    headline: str
    detail: str
    funnel: tuple[FunnelStep, ...]
    sum_in_words: str
    nodes: tuple[NodeVerdict, ...]
    more_nodes: int
    """Nodes that no row is drawn for."""

    verdicts: tuple[VerdictTile, ...]
    """Every device once, those of folded nodes too, up to `TABLE_ROWS`."""

    more_verdicts: int
    """Devices that no row of the table is there for."""

    advice: tuple[Advice, ...]
    selected: VerdictTile | None
    steps: int

    cut: str
    """What was left out since it was too long; empty: nothing."""


def explanation_of(
    stored: Mapping[str, Any],
    *,
    reader: Reader,
    selected: str,
    claims: Sequence[tuple[str, str]] = (),
) -> ShownExplanation:
    """Draw a stored explanation; `selected` is the `driver/pool/device` to show in full.

    `claims` are those that it is about, by namespace and name; with them, what is suggested leads
    to where it can be tried.
    """
    seen = redacted(dict(stored), namespaces=reader.namespaces)
    drawing = Drawing(reader, selected, holders_of(seen))
    rows = list(node_verdicts(stored["groups"], drawing))
    verdicts = tuple(islice(_every_tile(stored["groups"], drawing), TABLE_ROWS))
    found = find_device(seen, selected) if selected else None
    return ShownExplanation(
        outcome=stored["outcome"],
        tone={"fits": "ok", "broken": "sick"}.get(stored["outcome"], "warn"),
        headline=stored["headline"],
        detail=stored["detail"],
        funnel=funnel_of(stored["funnel"], stored["together"]),
        sum_in_words=sum_in_words(stored["funnel"]),
        nodes=tuple(rows[:ROWS_DRAWN]),
        more_nodes=sum(len(row.names) + row.more_names for row in rows[ROWS_DRAWN:]),
        verdicts=verdicts,
        more_verdicts=stored["funnel"]["considered"] - len(verdicts),
        advice=tuple(
            advice_of(entry, stored["holders"], reader=reader, claims=claims)
            for entry in stored["suggestions"]
        ),
        selected=drawing.tile(found) if found is not None else None,
        steps=stored["steps"],
        cut=stored.get("cut", ""),
    )


def _every_tile(groups: Sequence[Mapping[str, Any]], drawing: Drawing) -> Iterator[VerdictTile]:
    for group in groups:
        for name in group["names"] or ("",):
            yield from drawing.tiles(group, name)
