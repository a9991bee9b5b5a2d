"""A few nodes before and after, device by device: those that the scenario is about come first."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from dra_console.allocator.inventory import DeviceId, Node
from dra_console.allocator.world.added_taints import AddedTaints
from dra_console.allocator.world.index import Index, index_of
from dra_console.allocator.world.nodes import NodeSelectorError
from dra_console.allocator.world.pools import PublishedDevice
from dra_console.allocator.world.taints import untolerated
from dra_console.scheduling.whatif.answering import Answer
from dra_console.scheduling.whatif.changing import World
from dra_console.scheduling.whatif.fitting import SIMULATED, Fit

NODES_DRAWN: Final = 12
CELLS_DRAWN: Final = 32


class Look(StrEnum):
    """What is to be said of one device."""

    FREE = "free"
    HELD = "held"
    TAINTED = "tainted"
    OUT = "out"
    """Its node takes no pod."""

    GONE = "gone"
    """It is not there."""

    ADDED = "added"
    """A pod has it that the scenario adds."""

    ASKED = "asked"
    """A pod would have it of the kind that is asked about."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One device."""

    device: str
    before: Look
    after: Look


@dataclass(frozen=True, slots=True)
class DrawnNode:
    """One node. `pods` is how many of the pods it takes, after and, if it was there, before."""

    name: str
    is_new: bool
    is_gone: bool
    why_out: str
    pods_before: int
    pods: int
    cells: tuple[Cell, ...]
    more_cells: int


@dataclass(frozen=True, slots=True)
class Picture:
    """Nodes, and how many are not drawn."""

    nodes: tuple[DrawnNode, ...]
    more_nodes: int


def picture_of(answer: Answer) -> Picture:
    """Draw the nodes that differ, then those that take most of the pods."""
    before = {node.name: node for node in answer.before.snapshot.nodes}
    after = {node.name: node for node in answer.after.snapshot.nodes}
    counts = [fit.filling.counts_by_node() if fit else {} for fit in (answer.today, answer.then)]
    names = [*dict.fromkeys(_names(answer, before, after, counts))]
    drawn = names[:NODES_DRAWN]
    asked = _asked(answer.then, frozenset(drawn))
    worlds = (_Seen(answer.before, before), _Seen(answer.after, after))
    return Picture(
        tuple(_drawn(name, worlds, asked, counts) for name in drawn),
        len(before.keys() | after.keys()) - len(drawn),
    )


def _names(
    answer: Answer,
    before: Mapping[str, Node],
    after: Mapping[str, Node],
    counts: Sequence[Mapping[str, int]],
) -> Iterator[str]:
    today, then = counts
    yield from (name for name in before if name not in after)
    yield from (name for name in after if name not in before)
    out = answer.after.unusable
    yield from (name for name in out if name not in answer.before.unusable)
    yield from sorted(_nodes_of_changed_slices(answer))
    yield from (name for name in after if today.get(name, 0) != then.get(name, 0))
    for added in answer.added.values():
        yield from (name for places in added.places for name in places.nodes[:NODES_DRAWN])
    yield from sorted(then, key=lambda name: (-then[name], name))[:NODES_DRAWN]
    yield from list(after)[:NODES_DRAWN]


def _nodes_of_changed_slices(answer: Answer) -> set[str]:
    """Name the nodes whose slices are others, or have devices that other rules taint."""
    before, after = answer.before.snapshot, answer.after.snapshot
    if after.slices is before.slices and after.taint_rules is before.taint_rules:
        return set()
    known = {id(each) for each in before.slices}
    rules = {id(each): each for each in (*before.taint_rules, *after.taint_rules)}
    in_both = {id(each) for each in before.taint_rules} & {id(each) for each in after.taint_rules}
    added = AddedTaints(rule for key, rule in rules.items() if key not in in_both)
    return {
        each.reach.node_name
        for each in after.slices
        if each.reach.node_name is not None
        and (id(each) not in known or added.in_pool(each.driver, each.pool).rules)
    }


def _asked(fit: Fit | None, names: frozenset[str]) -> frozenset[DeviceId]:
    if fit is None:
        return frozenset()
    return frozenset(
        result.device_id
        for placed in fit.filling.placed_among(names)
        for allocation in placed.results
        for result in allocation.results
    )


class _Seen:
    """What stands at nodes in one world."""

    def __init__(self, world: World, nodes: Mapping[str, Node]) -> None:
        self._index: Final[Index] = index_of(world.snapshot)
        self._nodes: Final = nodes
        self.unusable: Final = world.unusable

    def looks(self, name: str) -> dict[DeviceId, tuple[PublishedDevice, Look]]:
        node = self._nodes.get(name)
        if node is None:
            return {}
        try:
            pools = self._index.inventory.pools_on(node)
        except NodeSelectorError:
            return {}
        return {each.id: (each, self._look(each, name)) for pool in pools for each in pool.devices}

    def _look(self, published: PublishedDevice, node: str) -> Look:
        usage = self._index.usage
        if usage.is_drawn(published.id):
            holders = (usage.holders.get(published.id), *usage.sharers.get(published.id, ()))
            uids = [claim.uid for claim in holders if claim is not None]
            return Look.ADDED if uids[-1:] and uids[-1].startswith(SIMULATED) else Look.HELD
        if node in self.unusable:
            return Look.OUT
        if untolerated(self._index.added_taints.beside_own(published), tolerations=()) is not None:
            return Look.TAINTED
        return Look.FREE


def _drawn(
    name: str,
    worlds: tuple[_Seen, _Seen],
    asked: frozenset[DeviceId],
    counts: Sequence[Mapping[str, int]],
) -> DrawnNode:
    before, after = (world.looks(name) for world in worlds)
    cells = []
    for device_id in before | after:
        published, _ = after.get(device_id) or before[device_id]
        was = before[device_id][1] if device_id in before else Look.GONE
        is_now = after[device_id][1] if device_id in after else Look.GONE
        if device_id in asked and is_now is not Look.HELD:
            is_now = Look.ASKED
        # Of a board, what is cut out of it: its options exclude one another.
        if not published.draws or {was, is_now} & {Look.HELD, Look.ADDED, Look.ASKED}:
            cells.append(Cell(device_id.device, was, is_now))
    return DrawnNode(
        name=name,
        is_new=not before and bool(after),
        is_gone=bool(before) and not after,
        why_out=worlds[1].unusable.get(name, ""),
        pods_before=counts[0].get(name, 0),
        pods=counts[1].get(name, 0),
        cells=tuple(cells[:CELLS_DRAWN]),
        more_cells=max(len(cells) - CELLS_DRAWN, 0),
    )
