"""An answer to a scenario, drawn: numbers before and after, places, a picture, who is hit.

Nothing here names what the reader may not see: claims and templates of other namespaces come
counted (`scheduling.whatif.impact`), and devices say how they are used, not by whom.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from django.urls import reverse

from dra_console.allocator.api_json import object_of, objects_of
from dra_console.scheduling.whatif.answering import Answer
from dra_console.scheduling.whatif.edits import DrainNode, RemoveNode, TaintDevices
from dra_console.scheduling.whatif.fitting import Added, Fit
from dra_console.scheduling.whatif.hits import Fate
from dra_console.scheduling.whatif.impact import HitClaim, Impact
from dra_console.scheduling.whatif.picture import Cell, DrawnNode, Look, picture_of
from dra_console.scheduling.whatif.rights import Rights
from dra_console.scheduling.whatif.suggested import suggested_scenario
from dra_console.web.presenters.whatif_edits import address_of, edit_in_words
from dra_console.web.presenters.whatif_fragments import ShownFragments, named, shown_fragments
from dra_console.web.wording import counted

CLAIMS_SHOWN: Final = 50

WORDS: Final[Mapping[Look, tuple[str, str, str]]] = MappingProxyType(
    {
        Look.FREE: ("free", "free", ""),
        Look.HELD: ("held", "held", ""),
        Look.TAINTED: ("tainted", "warn", "alert-triangle"),
        Look.OUT: ("node out", "unavailable", "ban"),
        Look.GONE: ("not there", "unavailable", "x"),
        Look.ADDED: ("added", "mine", "plus"),
        Look.ASKED: ("fits", "mine", "check"),
    }
)
"""Word, what fills the tile, sign."""

FATES: Final[Mapping[Fate, tuple[str, str]]] = MappingProxyType(
    {
        Fate.EVICTED: ("leaves", "sick"),
        Fate.EVICTED_LATER: ("leaves later", "warn"),
        Fate.STAYS: ("stays", "plain"),
        Fate.TOLERATES: ("tolerates it", "ok"),
    }
)


@dataclass(frozen=True, slots=True)
class ShownFit:
    """How many pods fit."""

    number: str
    """With `≥` in front where it is a lower bound."""

    why_not_more: str
    places: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class ShownCell:
    """One device after the edits, and what it was before where that differs."""

    device: str
    word: str
    was: str
    look: str
    sign: str


@dataclass(frozen=True, slots=True)
class ShownNode:
    """One node of the picture."""

    name: str
    address: str
    """Empty: there is no such node now."""

    note: str
    cells: tuple[ShownCell, ...]
    more_cells: int
    word: str
    tone: str


@dataclass(frozen=True, slots=True)
class ShownImpact:
    """Whom one edit hits."""

    text: str
    summary: str
    namespaces: tuple[tuple[str, str], ...]
    claims: tuple[tuple[HitClaim, str, str], ...]
    """Each with the word for its fate and the tone of that word."""

    more_claims: int


@dataclass(frozen=True, slots=True)
class ShownAnswer:
    """The whole result."""

    asked: str
    today: ShownFit | None
    then: ShownFit | None
    difference: str
    added: tuple[tuple[str, str], ...]
    nodes: tuple[ShownNode, ...]
    more_nodes: int
    impacts: tuple[ShownImpact, ...]
    fragments: ShownFragments
    advice: tuple[tuple[str, str], ...]
    """Where no pod fits: a change that helps, and the address of the scenario with it."""


def shown_answer(answer: Answer, *, rights: Rights) -> ShownAnswer:
    """Draw an answer."""
    picture = picture_of(answer)
    then, today = answer.then, answer.today
    return ShownAnswer(
        asked=str(answer.scenario.pod) if answer.scenario.pod else "",
        today=_fit(today),
        then=_fit(then),
        difference=_difference(today, then) if answer.scenario.edits else "",
        added=tuple(
            (edit_in_words(answer.scenario.edits[number]), _added_in_words(added))
            for number, added in answer.added.items()
        ),
        nodes=tuple(map(_node, picture.nodes)),
        more_nodes=picture.more_nodes,
        impacts=tuple(_impact(each) for each in answer.impacts if _has_impact(each)),
        fragments=shown_fragments(answer.fragments, answer.fragments_today, rights=rights),
        advice=tuple(_advice(answer, rights=rights)),
    )


def _advice(answer: Answer, *, rights: Rights) -> Iterator[tuple[str, str]]:
    explanation = answer.then.explanation if answer.then else None
    if explanation is None or not explanation.suggestions:
        return
    told = explanation.to_json()
    for suggestion in objects_of(told["suggestions"]):
        scenario = suggested_scenario(
            suggestion,
            answer.scenario,
            keys=[claim.key for claim in answer.claims],
            holders=object_of(told["holders"]),
            rights=rights,
        )
        if scenario is not None:
            yield str(suggestion["text"]), address_of(scenario)


def _fit(fit: Fit | None) -> ShownFit | None:
    if fit is None:
        return None
    why = fit.explanation.headline if fit.explanation else "More may fit; the search was cut off."
    places = tuple((each.each, named(each.nodes)) for each in fit.places)
    return ShownFit(f"{'≥ ' if fit.is_lower_bound else ''}{fit.count}", why, places)


def _difference(today: Fit | None, then: Fit | None) -> str:
    if today is None or then is None:
        return ""
    if then.count == today.count:
        return "as many as today"
    word = "more" if then.count > today.count else "fewer"
    return f"{abs(then.count - today.count)} {word} than today"


def _added_in_words(added: Added) -> str:
    where = "; ".join(f"{each.each} on {named(each.nodes)}" for each in added.places)
    if added.count == added.wanted:
        return f"all of them fit: {where}"
    found = f"{added.count} of {added.wanted} fit"
    return f"{found}{f': {where}' if where else ''}. {added.stopped}"


def _node(node: DrawnNode) -> ShownNode:
    word, tone = (counted(node.pods, "pod"), "ok") if node.pods else ("none fits", "plain")
    if node.is_gone:
        word, tone = "gone", "sick"
    notes = []
    if node.is_new:
        notes.append("new")
    if node.why_out:
        notes.append(node.why_out)
    if not node.is_new and node.pods_before != node.pods:
        notes.append(f"took {counted(node.pods_before, 'pod')}")
    return ShownNode(
        name=node.name,
        address="" if node.is_new else reverse("web:node", args=[node.name]),
        note=", ".join(notes),
        cells=tuple(map(_cell, node.cells)),
        more_cells=node.more_cells,
        word=word,
        tone=tone,
    )


def _cell(cell: Cell) -> ShownCell:
    word, look, sign = WORDS[cell.after]
    is_plain = cell.before is cell.after or (cell.before, cell.after) == (Look.FREE, Look.ASKED)
    was = "" if is_plain else f"was {WORDS[cell.before][0]}"
    return ShownCell(cell.device, word, was, look, sign)


def _has_impact(impact: Impact) -> bool:
    return isinstance(impact.effect.edit, DrainNode | RemoveNode | TaintDevices)


def _impact(impact: Impact) -> ShownImpact:
    claims = len(impact.effect.hits)
    leave = impact.total(Fate.EVICTED) + impact.total(Fate.EVICTED_LATER)
    devices = counted(impact.effect.devices, "device")
    summary = f"{devices}; nobody has any of them"
    if claims:
        summary = (
            f"{devices}, {counted(claims, 'claim')} on them: {leave} would lose their devices, "
            f"with {counted(impact.evicted_pods, 'pod')}"
        )
    return ShownImpact(
        text=edit_in_words(impact.effect.edit),
        summary=summary,
        namespaces=tuple(_namespaces(impact)),
        claims=tuple((each, *FATES[each.fate]) for each in impact.claims[:CLAIMS_SHOWN]),
        more_claims=impact.more_claims + max(len(impact.claims) - CLAIMS_SHOWN, 0),
    )


def _namespaces(impact: Impact) -> Iterator[tuple[str, str]]:
    for each in impact.namespaces:
        words = [counted(each.claims, "claim"), f"{counted(each.evicted_pods, 'pod')} to leave"]
        if each.priorities:
            words.append(f"highest priority {max(each.priorities)}")
        if each.unknown_priorities:
            words.append(f"priority of {counted(each.unknown_priorities, 'pod')} not known")
        yield each.namespace or "other namespaces", ", ".join(words)
