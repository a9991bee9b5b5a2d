"""Where devices stand, which is the same for every claim: worked out once for an inventory.

A device stands at the one node that sees it. A device that several nodes see, or none, is
adrift: it stands at no node. Whoever sees a slice sees all its devices, unless the slice
leaves node selection to them, so sightings are kept by slice.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Final, TypeAlias
from weakref import WeakKeyDictionary

from dra_console.allocator.explanation.groups import NodeDevices
from dra_console.allocator.explanation.naming import Naming, naming_of
from dra_console.allocator.inventory import DeviceId, Node
from dra_console.allocator.search.standings import DECLARED_FEATURE
from dra_console.allocator.world.inventory import Inventory
from dra_console.allocator.world.nodes import NodeSelectorError, reaches
from dra_console.allocator.world.pools import (
    NodePool,
    PoolStatus,
    PublishedDevice,
    PublishedSlice,
)

NO_NODE: Final = "no node of the cluster can use this device"


@dataclass(frozen=True, slots=True, eq=False)
class Place(NodeDevices):
    """One node. `problems` say of each device why nobody can use it now, or are empty.

    `slices` are those of its devices. `shared` are the devices that this node can use and others
    see as well. `outline` is equal for places that have the same names, problems and shared
    devices.
    """

    node: Node
    slices: tuple[PublishedSlice, ...] | None
    """`None` if it does not have all of their devices, or has them in another order."""

    problems: tuple[str, ...]
    shared: tuple[PublishedDevice, ...]
    outline: int

    @property
    def usable(self) -> tuple[PublishedDevice, ...]:
        """Devices that claims could get on this node, if nothing else stood against it."""
        own = (
            published
            for published, problem in zip(self.devices, self.problems, strict=True)
            if not problem
        )
        return (*own, *self.shared)


@dataclass(slots=True, eq=False)
class Adrift:
    """A device that stands at no node, and the nodes that see it and that can use it."""

    published: PublishedDevice
    nodes: tuple[str, ...]
    usable_on: tuple[str, ...]
    problem: str


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """All devices of the cluster, each once."""

    of_node: tuple[Place, ...]
    adrift: tuple[Adrift, ...]


Sighting: TypeAlias = PublishedSlice | PublishedDevice
"""What nodes see as a whole."""


Outline: TypeAlias = tuple[Naming, tuple[str, ...], tuple[PublishedDevice, ...]]
"""Names, problems and shared devices of a place."""


@dataclass(slots=True)
class _Seen:
    nodes: list[Node] = field(default_factory=list)
    usable_on: list[str] = field(default_factory=list)
    problem: str = ""


@dataclass(slots=True)
class _Own:
    """What only one node sees."""

    devices: list[PublishedDevice] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    slices: list[PublishedSlice] = field(default_factory=list)
    is_whole: bool = True

    def add(self, sighting: Sighting, devices: Sequence[PublishedDevice], *, problem: str) -> None:
        self.devices += devices
        self.problems += [problem] * len(devices)
        if isinstance(sighting, PublishedSlice) and len(devices) == len(sighting.devices):
            self.slices.append(sighting)
        else:
            self.is_whole = False


def places_of(inventory: Inventory, nodes: Sequence[Node]) -> Places:
    """Place every device, or return the places that were worked out before."""
    with _lock:
        known = _kept.get(inventory)
    if known is not None and (known[0] is nodes or known[0] == nodes):
        return known[1]
    places = _place(inventory, nodes)
    with _lock:
        _kept[inventory] = (nodes, places)
    return places


def _place(inventory: Inventory, nodes: Sequence[Node]) -> Places:
    seen, unreadable = _sightings(inventory, nodes)
    own: dict[str, _Own] = {node.name: _Own() for node in nodes}
    shared: dict[str, list[PublishedDevice]] = {}
    adrift: list[Adrift] = []
    known: set[DeviceId] = set()
    for sighting, each in seen.items():
        devices = _new(_devices(sighting), known)
        if len(each.nodes) == 1:
            own[each.nodes[0].name].add(sighting, devices, problem=each.problem)
            continue
        usable_on = tuple(each.usable_on)
        names = tuple(node.name for node in each.nodes)
        adrift += [Adrift(published, names, usable_on, each.problem) for published in devices]
        for name in usable_on:
            shared.setdefault(name, []).extend(devices)
    adrift += [
        Adrift(published, (), (), unreadable or NO_NODE)
        for published in _new(_newest(inventory), known)
    ]
    outlines: dict[Outline, int] = {}
    return Places(
        tuple(
            _place_at(node, own[node.name], tuple(shared.get(node.name, ())), outlines=outlines)
            for node in nodes
        ),
        tuple(adrift),
    )


def _new(devices: Iterable[PublishedDevice], known: set[DeviceId]) -> list[PublishedDevice]:
    """Keep the devices that were not met before; of a name that is there twice, the first."""
    first = []
    for published in devices:
        if published.id not in known:
            known.add(published.id)
            first.append(published)
    return first


def _place_at(
    node: Node,
    own: _Own,
    shared: tuple[PublishedDevice, ...],
    *,
    outlines: dict[Outline, int],
) -> Place:
    problems = tuple(own.problems)
    naming = naming_of(tuple([published.id for published in own.devices]), node=node.name)
    outline = outlines.setdefault((naming, problems, shared), len(outlines))
    slices = tuple(own.slices) if own.is_whole else None
    return Place(node.name, tuple(own.devices), node, slices, problems, shared, outline)


def _sightings(inventory: Inventory, nodes: Sequence[Node]) -> tuple[dict[Sighting, _Seen], str]:
    """List what each slice, or device with nodes of its own, is seen from, in first-fit order.

    A node that a malformed selector keeps from being looked at sees nothing; the second part
    of the answer says what is wrong with it.
    """
    sightings: dict[Sighting, _Seen] = {}
    unreadable = ""
    for node in nodes:
        try:
            visible = [
                (pool, each) for pool in inventory.pools_on(node) for each in _visible(pool, node)
            ]
        except NodeSelectorError as error:
            unreadable = f"a node selector is malformed: {error}"
            continue
        for pool, each in visible:
            seen = sightings.setdefault(each, _Seen())
            seen.nodes.append(node)
            problem = _problem(pool, each, node)
            if problem:
                seen.problem = problem
            else:
                seen.usable_on.append(node.name)
    return sightings, unreadable


def _visible(pool: NodePool, node: Node) -> Iterator[Sighting]:
    for each in pool.slices:
        if not each.slice.per_device_node_selection:
            yield each
            continue
        for published in each.devices:
            if reaches(published.reach, node=node):
                yield published


def _problem(pool: NodePool, visible: Sighting, node: Node) -> str:
    """Say why the node cannot use what it sees; empty if it can."""
    if pool.status is not PoolStatus.READY:
        return f"its pool is {pool.status}: {pool.problem}"
    if (
        visible.slice.skip_node_operations
        and DECLARED_FEATURE not in node.declared_features
        and any(each.skip_node_operations for each in _devices(visible))
    ):
        return f"the node does not declare {DECLARED_FEATURE}"
    return ""


def _devices(sighting: Sighting) -> Sequence[PublishedDevice]:
    return sighting.devices if isinstance(sighting, PublishedSlice) else (sighting,)


def _newest(inventory: Inventory) -> Iterator[PublishedDevice]:
    for pool in inventory.pools():
        yield from pool.generation(pool.newest).devices


_lock: Final = Lock()
_kept: Final[WeakKeyDictionary[Inventory, tuple[Sequence[Node], Places]]] = WeakKeyDictionary()
