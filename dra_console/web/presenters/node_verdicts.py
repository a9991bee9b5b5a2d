"""The rows of an explanation: nodes with their devices, those that are alike folded into one."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

from dra_console.web.presenters.verdict_tiles import Drawing, VerdictTile
from dra_console.web.wording import counted

NO_NODE: Final = "On no single node"

ALIKE_REASONS: Final = frozenset({"class-mismatch", "selector-mismatch", "node-filter"})
"""Nodes that fail for one of these on every device are folded into one row where alike."""

NODES_DRAWN: Final = 4
"""Of a group of alike nodes with their devices; the rest is one row."""

NAMES_DRAWN: Final = 12
"""Of the nodes of one row."""


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


def node_verdicts(groups: Sequence[Mapping[str, Any]], drawing: Drawing) -> Iterator[NodeVerdict]:
    """Draw the groups of nodes, the nearest miss first as they are stored."""
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


def _group(group: Mapping[str, Any], drawing: Drawing) -> Iterator[NodeVerdict]:
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


def _reason(reason: str) -> str:
    return reason.replace("-mismatch", "").replace("-", " ")
