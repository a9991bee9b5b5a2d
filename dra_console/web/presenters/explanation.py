"""Why a claim waits, drawn: sentence, funnel, nodes from the nearest miss to the hopeless.

Reads what an Attempt stores (`allocator.explanation.folding`). The reader's rights are
applied here: a claim of a namespace that they may not see is `another namespace`. Only what
is drawn is unfolded: a few nodes of each group of alike ones.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Any, Final

from dra_console.access.redaction import redacted
from dra_console.allocator.explanation.unfolding import (
    HIDDEN_HOLDER,
    HIDDEN_NAMESPACE,
    Holders,
    device_rows,
    find_device,
    holders_of,
    key_of,
)
from dra_console.scheduling.whatif.rights import Rights
from dra_console.scheduling.whatif.scenario import Scenario
from dra_console.scheduling.whatif.suggested import pod_of_claims, suggested_scenario
from dra_console.web.presenters.reader import Reader
from dra_console.web.presenters.tiles import Look
from dra_console.web.presenters.whatif_edits import address_of
from dra_console.web.wording import counted

NO_NODE: Final = "On no single node"
FULL_HEIGHT: Final = 44
"""Of a funnel bar, in the units of its view box."""

VERDICTS: Final[Mapping[str, tuple[str, Look, str]]] = {
    "free": ("free", Look.FREE, "check"),
    "taken": ("taken", Look.HELD, ""),
    "tainted": ("tainted", Look.SICK, "alert-triangle"),
    "class-mismatch": ("other class", Look.UNAVAILABLE, "x"),
    "selector-mismatch": ("no match", Look.UNAVAILABLE, "x"),
    "selector-error": ("error", Look.WARN, "alert-triangle"),
    "constraint": ("constraint", Look.WARN, "x"),
    "counters": ("no room", Look.UNAVAILABLE, "ban"),
    "node-filter": ("node", Look.UNAVAILABLE, "ban"),
}
"""Each verdict's word, look and sign."""

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

In the order of `allocator.verdicts.Verdict`, so that each step leaves what the next looks at.
"""

ALWAYS_SHOWN: Final = frozenset({"class-mismatch", "selector-mismatch", "tainted", "taken"})

ALIKE_REASONS: Final = frozenset({"class-mismatch", "selector-mismatch", "node-filter"})
"""Nodes that fail for one of these on every device are folded into one row where alike."""

NODES_DRAWN: Final = 4
"""Of a group of alike nodes with their devices; the rest is one row."""

ROWS_DRAWN: Final = 60
NAMES_DRAWN: Final = 12
"""Of the nodes of one row."""

TABLE_ROWS: Final = 500
"""Devices in the table; the page says how many there are beside them."""


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


@dataclass(frozen=True, slots=True)
class VerdictTile:
    """One device with its verdict."""

    key: str
    device: str
    look: Look
    sign: str
    """Name of an icon; empty for none."""

    headline: str
    word: str
    evidence: str
    is_selected: bool


@dataclass(frozen=True, slots=True)
class NodeVerdict:
    """One node, or several that are alike."""

    names: tuple[str, ...]
    """Empty: devices that stand at no single node."""

    more_names: int
    """Alike nodes beside them."""

    title: str
    note: str
    reason: str
    tiles: tuple[VerdictTile, ...]
    evidence: str
    """Instead of tiles, where all devices fail alike."""

    tone: str


@dataclass(frozen=True, slots=True)
class Advice:
    """One change that was tried on this state and makes it fit."""

    text: str
    detail: str
    holder: str
    """Claim to wait for, or `another namespace`; empty where the change is another one."""

    address: str
    """Of the what-if page, where it can be tried; empty where it can not."""


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
    drawing = _Drawing(reader, selected, holders_of(seen))
    rows = list(_nodes(stored["groups"], drawing))
    verdicts = tuple(islice(_every_tile(stored["groups"], drawing), TABLE_ROWS))
    found = find_device(seen, selected) if selected else None
    return ShownExplanation(
        outcome=stored["outcome"],
        tone={"fits": "ok", "broken": "sick"}.get(stored["outcome"], "warn"),
        headline=stored["headline"],
        detail=stored["detail"],
        funnel=_funnel(stored["funnel"], stored["together"]),
        sum_in_words=_sum_in_words(stored["funnel"]),
        nodes=tuple(rows[:ROWS_DRAWN]),
        more_nodes=sum(len(row.names) + row.more_names for row in rows[ROWS_DRAWN:]),
        verdicts=verdicts,
        more_verdicts=stored["funnel"]["considered"] - len(verdicts),
        advice=tuple(
            _advice(entry, stored["holders"], reader=reader, claims=claims)
            for entry in stored["suggestions"]
        ),
        selected=drawing.tile(found) if found is not None else None,
        steps=stored["steps"],
        cut=stored.get("cut", ""),
    )


@dataclass(frozen=True, slots=True)
class _Drawing:
    reader: Reader
    selected: str
    holders: Holders

    def tiles(self, group: Mapping[str, Any], name: str) -> Iterator[VerdictTile]:
        """Draw the devices of one node of a group."""
        return map(self.tile, device_rows(dict(group), name, holders=self.holders))

    def tile(self, row: Mapping[str, Any]) -> VerdictTile:
        """Draw a device."""
        word, look, sign = VERDICTS[row["verdict"]]
        key = key_of(dict(row))
        holder = row["holder"]
        headline = word
        if holder is not None:
            headline = holder["namespace"]
            if self.reader.owns(holder["namespace"]):
                look = Look.MINE
        elif row["evidence"] == HIDDEN_HOLDER:
            headline = "other team"
        return VerdictTile(
            key=key,
            device=row["device"],
            look=look,
            sign=sign,
            headline=headline,
            word=word,
            evidence=row["evidence"],
            is_selected=key == self.selected,
        )


def _advice(
    suggestion: Mapping[str, Any],
    holders: Mapping[str, Any],
    *,
    reader: Reader,
    claims: Sequence[tuple[str, str]],
) -> Advice:
    holder = suggestion["holder"]
    label = ""
    if holder is not None:
        is_seen = reader.sees(holder["namespace"])
        label = f"{holder['namespace']}/{holder['name']}" if is_seen else HIDDEN_NAMESPACE
    scenario = None
    if claims:
        scenario = suggested_scenario(
            suggestion,
            Scenario(pod=pod_of_claims(claims)),
            keys=["/".join(key) for key in claims],
            holders=holders,
            rights=Rights(claims=reader.namespaces, templates=frozenset()),
        )
    return Advice(
        text=suggestion["text"],
        detail=suggestion["detail"],
        holder=label,
        address="" if scenario is None else address_of(scenario),
    )


def _funnel(
    counts: Mapping[str, int], together: Mapping[str, Any] | None
) -> tuple[FunnelStep, ...]:
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


def _sum_in_words(counts: Mapping[str, int]) -> str:
    parts = [count for verdict, count in counts.items() if verdict != "considered" and count]
    return f"{' + '.join(map(str, parts)) or '0'} = {counts['considered']}"


def _nodes(groups: Sequence[Mapping[str, Any]], drawing: _Drawing) -> Iterator[NodeVerdict]:
    for fold, members in groupby(groups, key=_likeness):
        alike = list(members)
        if fold:
            yield _folded(alike, note=_count_in_words(alike))
        else:
            for group in alike:
                yield from _group(group, drawing)


def _likeness(group: Mapping[str, Any]) -> str:
    """Say with which others a group is drawn as one row; empty for none.

    Those are groups of equal reason and evidence, and those whose devices are not listed.
    """
    verdicts = {(verdict["verdict"], verdict["evidence"]) for verdict in group["verdicts"]}
    is_alike = group["reason"] in ALIKE_REASONS and len(verdicts) == 1
    if is_alike or group["devices"] is None:
        return f"{group['reason']} {group['summary']} {sorted(verdicts)}"
    return ""


def _group(group: Mapping[str, Any], drawing: _Drawing) -> Iterator[NodeVerdict]:
    names = group["names"]
    for name in names[:NODES_DRAWN] or ("",):
        yield NodeVerdict(
            names=(name,) if name else (),
            more_names=0,
            title=name or NO_NODE,
            note=group["summary"],
            reason=_reason(group["reason"]),
            tiles=tuple(drawing.tiles(group, name)),
            evidence="",
            tone="ok" if group["reason"] == "fits" else "warn",
        )
    if len(names) > NODES_DRAWN:
        rest = {**group, "names": names[NODES_DRAWN:]}
        yield _folded([rest], note=f"alike: {group['summary']}")


def _folded(groups: Sequence[Mapping[str, Any]], *, note: str) -> NodeVerdict:
    names = tuple(name for group in groups for name in group["names"])
    first = groups[0]
    is_one_reason = len(first["verdicts"]) == 1
    return NodeVerdict(
        names=names[:NAMES_DRAWN],
        more_names=len(names[NAMES_DRAWN:]),
        title=counted(len(names), "node") if names else NO_NODE,
        note=note,
        reason=_reason(first["reason"]),
        tiles=(),
        evidence=first["verdicts"][0]["evidence"] if is_one_reason else first["summary"],
        tone="plain",
    )


def _count_in_words(groups: Sequence[Mapping[str, Any]]) -> str:
    devices = sum(verdict["count"] for group in groups for verdict in group["verdicts"])
    nodes = sum(len(group["names"]) for group in groups)
    words = counted(devices, "device")
    return words if nodes <= 1 else f"{words}, {nodes} nodes alike"


def _every_tile(groups: Sequence[Mapping[str, Any]], drawing: _Drawing) -> Iterator[VerdictTile]:
    for group in groups:
        for name in group["names"] or ("",):
            yield from drawing.tiles(group, name)


def _reason(reason: str) -> str:
    return reason.replace("-mismatch", "").replace("-", " ")
