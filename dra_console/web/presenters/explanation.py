"""Why a claim waits, drawn: sentence, funnel, nodes from the nearest miss to the hopeless.

Reads what an Attempt stores (`allocator.explain.Explanation.to_json`). The reader's rights
are applied here: a claim of a namespace that they may not see is `another namespace`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

from dra_console.web.presenters.reader import Reader
from dra_console.web.presenters.tiles import Look
from dra_console.web.wording import counted

HIDDEN: Final = "another namespace"
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
    ("constraint", "fit together", "do not fit together"),
    ("counters", "room left", "overlap with held partitions"),
    ("node-filter", "node", "on nodes that it cannot use"),
)
"""Verdict, what the devices left after it have in common, what those that it took are.

In the order of `allocator.verdicts.Verdict`, so that each step leaves what the next looks at.
"""

ALWAYS_SHOWN: Final = frozenset({"class-mismatch", "selector-mismatch", "tainted", "taken"})

ALIKE_REASONS: Final = frozenset({"class-mismatch", "selector-mismatch", "node-filter"})
"""Nodes that fail for one of these on every device are folded into one row where alike."""


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
    verdicts: tuple[VerdictTile, ...]
    """Every device once, those of folded nodes too."""

    advice: tuple[Advice, ...]
    selected: VerdictTile | None
    steps: int


def explanation_of(stored: Mapping[str, Any], *, reader: Reader, selected: str) -> ShownExplanation:
    """Draw a stored explanation; `selected` is the `driver/pool/device` to show in full."""
    verdicts = tuple(
        _tile(device, reader=reader, selected=selected)
        for node in stored["nodes"]
        for device in node["devices"]
    )
    return ShownExplanation(
        outcome=stored["outcome"],
        tone={"fits": "ok", "broken": "sick"}.get(stored["outcome"], "warn"),
        headline=stored["headline"],
        detail=stored["detail"],
        funnel=_funnel(stored["funnel"]),
        sum_in_words=_sum_in_words(stored["funnel"]),
        nodes=_nodes(stored["nodes"], reader=reader, selected=selected),
        verdicts=verdicts,
        advice=tuple(_advice(entry, reader=reader) for entry in stored["suggestions"]),
        selected=next((tile for tile in verdicts if tile.is_selected), None),
        steps=stored["steps"],
    )


def _advice(suggestion: Mapping[str, Any], *, reader: Reader) -> Advice:
    holder = suggestion["holder"]
    label = ""
    if holder is not None:
        is_seen = reader.sees(holder["namespace"])
        label = f"{holder['namespace']}/{holder['name']}" if is_seen else HIDDEN
    return Advice(text=suggestion["text"], detail=suggestion["detail"], holder=label)


def _funnel(counts: Mapping[str, int]) -> tuple[FunnelStep, ...]:
    considered = counts["considered"]
    steps = [_step(considered, considered, label=_noun(considered), lost="considered")]
    left = considered
    for verdict, label, lost in STEPS:
        taken_away = counts[verdict]
        left -= taken_away
        if taken_away or verdict in ALWAYS_SHOWN:
            steps.append(_step(left, considered, label=label, lost=f"{taken_away} {lost}"))
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


def _nodes(
    nodes: Sequence[Mapping[str, Any]], *, reader: Reader, selected: str
) -> tuple[NodeVerdict, ...]:
    drawn = []
    for (fold, _), group in groupby(nodes, key=_likeness):
        alike = list(group)
        if fold:
            drawn.append(_folded(alike))
        else:
            drawn.extend(_node(node, reader=reader, selected=selected) for node in alike)
    return tuple(drawn)


def _likeness(node: Mapping[str, Any]) -> tuple[bool, str]:
    """Say whether a node is folded, and with which others: those of equal reason and evidence."""
    verdicts = {(device["verdict"], device["evidence"]) for device in node["devices"]}
    reason = node["reason"]
    is_alike = reason in ALIKE_REASONS and len(verdicts) == 1
    return (True, f"{reason} {verdicts}") if is_alike else (False, node["name"])


def _folded(nodes: Sequence[Mapping[str, Any]]) -> NodeVerdict:
    names = tuple(node["name"] for node in nodes if node["name"])
    devices = counted(sum(len(node["devices"]) for node in nodes), "device")
    first = nodes[0]
    return NodeVerdict(
        names=names,
        title=", ".join(names) or NO_NODE,
        note=devices if len(names) == 1 else f"{devices}, {len(names)} nodes alike",
        reason=_reason(first["reason"]),
        tiles=(),
        evidence=first["devices"][0]["evidence"] or first["summary"],
        tone="plain",
    )


def _node(node: Mapping[str, Any], *, reader: Reader, selected: str) -> NodeVerdict:
    tone = {"fits": "ok", "not-tried": "plain"}.get(node["reason"], "warn")
    return NodeVerdict(
        names=(node["name"],) if node["name"] else (),
        title=node["name"] or NO_NODE,
        note=node["summary"],
        reason=_reason(node["reason"]),
        tiles=tuple(_tile(device, reader=reader, selected=selected) for device in node["devices"]),
        evidence="",
        tone=tone,
    )


def _reason(reason: str) -> str:
    return reason.replace("-mismatch", "").replace("-", " ")


def _tile(device: Mapping[str, Any], *, reader: Reader, selected: str) -> VerdictTile:
    word, look, sign = VERDICTS[device["verdict"]]
    key = f"{device['driver']}/{device['pool']}/{device['device']}"
    holder = device["holder"]
    evidence = device["evidence"]
    headline = word
    if holder is not None:
        is_seen = reader.sees(holder["namespace"])
        headline = holder["namespace"] if is_seen else "other team"
        if not is_seen:
            evidence = f"taken by {HIDDEN}"
        if reader.owns(holder["namespace"]):
            look = Look.MINE
    return VerdictTile(
        key=key,
        device=device["device"],
        look=look,
        sign=sign,
        headline=headline,
        word=word,
        evidence=evidence,
        is_selected=key == selected,
    )
