"""What no template can use, in words."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from dra_console.scheduling.whatif.fragments import Fragments
from dra_console.scheduling.whatif.rights import Rights
from dra_console.web.wording import counted

NAMES_SHOWN: Final = 8


@dataclass(frozen=True, slots=True)
class ShownFragments:
    """What no template can use."""

    summary: str
    was: str
    lines: tuple[tuple[str, str], ...]
    shapes: str


def named(names: tuple[str, ...]) -> str:
    """Name the first few, and count the others."""
    more = len(names) - NAMES_SHOWN
    shown = ", ".join(names[:NAMES_SHOWN])
    return f"{shown} and {more} more" if more > 0 else shown


def shown_fragments(now: Fragments, today: Fragments, *, rights: Rights) -> ShownFragments:
    """Draw what is left now, and what was before if that is another answer."""
    names = [
        "/".join(names)
        for shape in now.shapes
        for names in shape
        if rights.sees_templates(names[0])
    ]
    hidden = sum(len(shape) for shape in now.shapes) - len(names)
    shapes = ", ".join(names[: 2 * NAMES_SHOWN]) or "none that you may see"
    more = max(len(names) - 2 * NAMES_SHOWN, 0)
    if more:
        shapes += f" and {more} more"
    if hidden:
        shapes += f", and {counted(hidden, 'template')} of other namespaces"
    broken = tuple("/".join(names) for names in now.broken if rights.sees_templates(names[0]))
    if broken:
        shapes += f". Cannot be tried: {named(broken)}"
    return ShownFragments(
        summary=_left_in_words(now),
        was="" if now is today else _left_in_words(today),
        lines=tuple(_left_lines(now)),
        shapes=shapes,
    )


def _left_in_words(fragments: Fragments) -> str:
    words = f"{fragments.devices_left} of {fragments.free} free devices"
    if fragments.boards_left:
        words += f", and room on {counted(fragments.boards_left, 'partitioned GPU')}"
    if fragments.unread_nodes:
        nodes = counted(fragments.unread_nodes, "node")
        words += f"; {nodes} cannot be looked at, since a node selector is malformed"
    if fragments.unread_shapes:
        specs = counted(fragments.unread_shapes, "spec")
        words += f"; fewer, if templates of {specs} that were not looked at can use some"
    if fragments.is_cut_off:
        words += "; fewer, if a search that was cut off would have found more"
    return words


def _left_lines(fragments: Fragments) -> Iterator[tuple[str, str]]:
    for each in fragments.left:
        parts = [counted(len(each.devices), "whole device")] if each.devices else []
        parts += [f"on {board} room for {named(names)}" for board, names in each.partitions.items()]
        where = f"shared by {named(each.nodes)}" if each.is_shared else named(each.nodes)
        yield where, "; ".join(parts)
