"""Free capacity that none of the templates can use: what is left once they took what they can.

Nodes are filled with pods of every template, the ones that want most devices first. A device,
or a partition that its board still has room for, that is free after that is of no use to any of
them as things are. Which templates were looked at is part of the answer: another one may fit.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from dra_console.allocator.decoding.decode import decode_template
from dra_console.allocator.errors import DecodeError
from dra_console.allocator.model import (
    EXACT_COUNT,
    ClaimSpec,
    DeviceWish,
    JsonObject,
    ResourceClaim,
)
from dra_console.allocator.search.drawing import ledger_of
from dra_console.allocator.search.filled_usage import filled_usage
from dra_console.allocator.search.filling import FilledCase, fill
from dra_console.allocator.world.counters import CounterLedger
from dra_console.allocator.world.index import Index, index_of
from dra_console.allocator.world.pools import NodePool, PublishedDevice
from dra_console.allocator.world.taints import untolerated
from dra_console.scheduling.whatif.changing import World
from dra_console.scheduling.whatif.fitting import usable_nodes
from dra_console.scheduling.whatif.shared_pools import SharedPool, pools_of

MOST_SHAPES: Final = 64
"""Of templates; how many more there are is part of the answer."""

LARGEST_CLAIM: Final = 32


@dataclass(frozen=True, slots=True)
class Left:
    """What is left on each of some nodes that are alike."""

    nodes: tuple[str, ...]
    devices: tuple[str, ...]
    """Whole devices by name."""

    partitions: Mapping[str, tuple[str, ...]]
    """By board (counter set): the partitions for which there is room, each by itself."""

    is_shared: bool = False
    """Whether all these nodes see the same devices, so that they count once."""

    @property
    def times(self) -> int:
        """Say how often the devices are there."""
        return 1 if self.is_shared else len(self.nodes)


@dataclass(frozen=True, slots=True)
class Fragments:
    """What is free, and what of it is left when all templates took what they can."""

    free: int
    """Whole devices that are free now."""

    left: tuple[Left, ...]
    shapes: tuple[tuple[tuple[str, str], ...], ...]
    """The templates that were considered: those of one spec together, by namespace and name."""

    broken: tuple[tuple[str, str], ...]
    """Templates that could not be tried."""

    unread_shapes: int
    """Specs of templates beyond `MOST_SHAPES`, the smallest, which were left out."""

    unread_nodes: int
    """Nodes left out, since a node selector is malformed that is looked at for them."""

    is_cut_off: bool
    """Whether some search was not brought to its end."""

    @property
    def is_upper_bound(self) -> bool:
        """Tell whether less may be left than was found."""
        return self.is_cut_off or self.unread_shapes > 0

    @property
    def devices_left(self) -> int:
        """Count the whole devices that are left."""
        return sum(len(each.devices) * each.times for each in self.left)

    @property
    def boards_left(self) -> int:
        """Count the boards with room for a partition that no template asks for."""
        return sum(len(each.partitions) * each.times for each in self.left)


def fragments(world: World, templates: Mapping[tuple[str, str], JsonObject]) -> Fragments:
    """Fill a world with pods of all templates and say what is left."""
    index = index_of(world.snapshot)
    nodes = usable_nodes(world)
    every_shape, broken = _shapes(templates)
    shapes = dict(every_shape[:MOST_SHAPES])
    while True:
        claims = [[ResourceClaim("", "shape", spec=spec)] for spec in shapes]
        filling = fill(index, claims, nodes=nodes)
        if filling.broken is None or not shapes:
            break
        bad = next(
            (
                spec
                for spec, shape in zip(shapes, claims, strict=True)
                if fill(index, [shape], nodes=nodes).broken is not None
            ),
            next(iter(shapes)),
        )
        broken.extend(shapes.pop(bad))
    after = replace(
        index,
        usage=filled_usage(
            index.usage, filling, holder=ResourceClaim("", "shape"), rules=index.rules
        ),
    )
    shared, unread = pools_of(filling.together_nodes, index)
    return Fragments(
        free=sum(len(case.members) * len(_whole(case, index)) for case in filling.cases)
        + sum(len(_whole_in(each.devices, index)) for each in shared),
        left=(*_lefts(filling.cases, after), *_shared_lefts(shared, after)),
        shapes=tuple(tuple(names) for names in shapes.values()),
        broken=tuple(broken),
        unread_shapes=len(every_shape[MOST_SHAPES:]),
        unread_nodes=unread,
        is_cut_off=filling.is_lower_bound,
    )


def _shapes(
    templates: Mapping[tuple[str, str], JsonObject],
) -> tuple[list[tuple[ClaimSpec, list[tuple[str, str]]]], list[tuple[str, str]]]:
    """Group templates by what they ask for, the largest first; admin access takes nothing."""
    known: dict[ClaimSpec, list[tuple[str, str]]] = {}
    broken = []
    for names, raw in sorted(templates.items(), key=lambda item: item[0]):
        try:
            spec = decode_template(raw).spec
        except DecodeError:
            broken.append(names)
            continue
        if not any(wish.admin_access for wish in _wishes(spec)):
            known.setdefault(spec, []).append(names)
    return sorted(known.items(), key=lambda item: (-_size(item[0]), item[1])), broken


def _wishes(spec: ClaimSpec) -> Iterator[DeviceWish]:
    for request in spec.requests:
        if request.exactly is not None:
            yield request.exactly
        yield from (each.wish for each in request.first_available)


def _size(spec: ClaimSpec) -> int:
    return sum(
        wish.count if wish.allocation_mode == EXACT_COUNT else LARGEST_CLAIM
        for wish in _wishes(spec)
    )


def _lefts(cases: Sequence[FilledCase], index: Index) -> Iterator[Left]:
    """Say of each case what is left, those together of which the same is to be said."""
    found: dict[tuple[tuple[str, ...], tuple[tuple[str, tuple[str, ...]], ...]], list[str]] = {}
    for case in cases:
        devices = tuple(each.id.device for each in _whole(case, index))
        partitions = tuple(_partitions(case, index))
        if devices or partitions:
            names = found.setdefault((devices, partitions), [])
            names += [record.node.name for record, _ in case.members]
    for (devices, partitions), names in found.items():
        yield Left(tuple(sorted(names)), devices, dict(partitions))


def _whole(case: FilledCase, index: Index) -> list[PublishedDevice]:
    """List the free devices of one node of a case that are no partitions."""
    record, _ = case.members[0]
    return _whole_in(record.devices, index)


def _whole_in(devices: Iterable[PublishedDevice], index: Index) -> list[PublishedDevice]:
    return [each for each in devices if not each.draws and _is_free(each, index)]


def _shared_lefts(pools: Sequence[SharedPool], index: Index) -> Iterator[Left]:
    """Say of pools that several nodes may see what is left, each pool once."""
    for each in pools:
        devices = tuple(published.id.device for published in _whole_in(each.devices, index))
        boards: dict[str, tuple[str, ...]] = {}
        for pool in each.seen if each.seen[0].counters else ():
            ledger = ledger_of(pool, usage=index.usage, rules=index.rules)
            for board, names in _room(pool, ledger, index):
                boards[board] = tuple(dict.fromkeys((*boards.get(board, ()), *names)))
        if devices or boards:
            yield Left(each.nodes, devices, boards, is_shared=True)


def _partitions(case: FilledCase, index: Index) -> Iterator[tuple[str, tuple[str, ...]]]:
    record, _ = case.members[0]
    for pool in record.ready:
        if not pool.counters:
            continue
        ledger = ledger_of(pool, usage=index.usage, rules=index.rules)
        yield from _room(pool, ledger, index)


def _room(
    pool: NodePool, ledger: CounterLedger, index: Index
) -> Iterator[tuple[str, tuple[str, ...]]]:
    boards: dict[str, list[str]] = {}
    for each in pool.devices:
        if each.draws and _is_free(each, index) and ledger.shortage(each.draws) is None:
            board = each.device.consumes_counters[0].name
            boards.setdefault(board, []).append(each.id.device)
    for board, names in boards.items():
        yield board, tuple(names)


def _is_free(published: PublishedDevice, index: Index) -> bool:
    return (
        not index.usage.is_drawn(published.id)
        and not published.is_hidden
        and not published.is_barred
        and untolerated(index.added_taints.beside_own(published), tolerations=()) is None
    )
