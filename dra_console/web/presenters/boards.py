"""Nodes with their devices: the rows of the devices board, of a node's page and of the nodes list.

Partitions are drawn inside their GPU, in proportion to its memory; only those that can exist
side by side are drawn (`mirror.inventory`), so each row shows the silicon once.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Self

from django.urls import reverse

from dra_console.mirror.inventory import DeviceState
from dra_console.mirror.tallies import PoolNumbers, Tally, tally
from dra_console.sync.reading import text_in
from dra_console.telemetry.messages import Source
from dra_console.telemetry.readings import DeviceKey
from dra_console.web.presenters.live_state import LiveState, Used, used_of
from dra_console.web.presenters.reader import Reader
from dra_console.web.presenters.tiles import Tile, tile_of
from dra_console.web.wording import age_in_words, model_in_words

EIGHTHS = 8
"""Partitions are drawn in eighths of a GPU: no MIG board has more memory slices."""


@dataclass(frozen=True, slots=True)
class AgentNote:
    """What is known of a node's agent, in the words that `device-readings.js` goes on with."""

    state: str
    """`live`, `stale` or `none`."""

    words: str
    is_simulated: bool


@dataclass(frozen=True, slots=True)
class Board:
    """One GPU: as a device of its own, or as the partitions that it can be cut into, or both."""

    gpu_name: str
    product_name: str
    memory_bytes: int | None
    """The GPU's own; where it is not offered whole, that of its largest partition."""

    is_partitionable: bool
    members: tuple[DeviceState, ...]
    """The GPU and its partitions."""

    def only(self, shown: Collection[DeviceKey]) -> Self | None:
        """Keep the members that are shown; nothing if none is."""
        members = tuple(member for member in self.members if DeviceKey(*member.key) in shown)
        return replace(self, members=members) if members else None


@dataclass(frozen=True, slots=True)
class PartTile:
    """A partition inside its GPU."""

    tile: Tile
    label: str
    """Profile, as in `3g.20gb`, or what its name says."""

    eighths: int
    """Share of its GPU."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One GPU on the board: a tile of its own, or its partitions."""

    gpu_name: str
    tile: Tile | None
    parts: tuple[PartTile, ...]
    is_partitionable: bool
    """Drawn four tiles wide, also while it is whole, so that it does not jump."""


@dataclass(frozen=True, slots=True)
class NodeRow:
    """One node and its devices."""

    node_name: str
    """Empty for devices that are not one node's."""

    address: str

    models: tuple[str, ...]
    """As in `8 × H100 80 GB`."""

    agent: AgentNote
    cells: tuple[Cell, ...]
    numbers: Tally
    used: Used
    problems: tuple[str, ...]
    is_lower_bound: bool


def node_names_of(states: Iterable[DeviceState]) -> list[str]:
    """Name the nodes with these devices, in the order of rows; "" (not one node's) is last."""
    return sorted({state.node_name for state in states}, key=lambda name: (name == "", name))


def node_rows(  # noqa: PLR0913 - what to draw, of what, and for whom
    states: Iterable[DeviceState],
    *,
    node_names: Iterable[str],
    shown: Iterable[DeviceState],
    reader: Reader,
    live: LiveState,
    pools: Sequence[PoolNumbers],
) -> tuple[NodeRow, ...]:
    """Draw the shown devices of these nodes, one row a node.

    `states` are all devices: the size of a GPU may be known from partitions that are not shown.
    """
    by_node: dict[str, list[DeviceState]] = {name: [] for name in node_names}
    for state in states:
        if state.node_name in by_node:
            by_node[state.node_name].append(state)
    keys = {DeviceKey(*state.key) for state in shown}
    return tuple(
        _node_row(
            name,
            boards=[part for board in boards_of(members) if (part := board.only(keys))],
            reader=reader,
            live=live,
            pools=[pool for pool in pools if pool.node_name == name],
        )
        for name, members in by_node.items()
    )


def _node_row(
    node_name: str,
    *,
    boards: Sequence[Board],
    reader: Reader,
    live: LiveState,
    pools: Sequence[PoolNumbers],
) -> NodeRow:
    states = [state for board in boards for state in board.members]
    return NodeRow(
        node_name=node_name,
        address=reverse("web:node", args=[node_name]) if node_name else "",
        models=models_in_words(boards),
        agent=agent_note(node_name, live=live),
        cells=tuple(_cell(board, reader=reader, live=live) for board in boards),
        numbers=tally(states),
        used=used_of(states, live=live),
        problems=tuple(_problem(pool) for pool in pools if pool.problem or pool.is_lower_bound),
        is_lower_bound=any(pool.is_lower_bound for pool in pools),
    )


def agent_note(node_name: str, *, live: LiveState) -> AgentNote:
    """Say how long ago a node's agent was heard."""
    agent = live.agents.get(node_name)
    if agent is None:
        words = "no agent" if live.is_reachable else "readings not available"
        return AgentNote(state="none", words=words, is_simulated=False)
    is_stale = agent.is_stale(live.now)
    age = age_in_words(live.now - agent.last_seen_at)
    return AgentNote(
        state="stale" if is_stale else "live",
        words=f"{'stale' if is_stale else 'agent'} {age}",
        is_simulated=agent.source is Source.SIMULATED,
    )


def models_in_words(boards: Iterable[Board]) -> tuple[str, ...]:
    """Count GPUs per model, as in `8 × H100 80 GB`."""
    number = Counter(model_in_words(board.product_name, board.memory_bytes) for board in boards)
    return tuple(f"{count} × {model}" for model, count in number.items())


def part_label(state: DeviceState) -> str:
    """Name a partition by its profile, if it publishes one, else by its own name."""
    profile = text_in(state.device.attributes, "profile", "string")
    return profile or state.device.name.removeprefix(f"{state.device.parent}-")


def boards_of(states: Iterable[DeviceState]) -> tuple[Board, ...]:
    """Group devices by the GPU that they are, or are partitions of, in the driver's order."""
    by_gpu: dict[tuple[str, str, str], list[DeviceState]] = defaultdict(list)
    for state in states:
        driver, pool, name = state.key
        by_gpu[(driver, pool, state.device.parent or name)].append(state)
    return tuple(
        Board(
            gpu_name=gpu_name,
            product_name=members[0].device.product_name,
            memory_bytes=max(one.device.memory_bytes or 0 for one in members) or None,
            is_partitionable=any(one.device.parent for one in members),
            members=tuple(members),
        )
        for (_, _, gpu_name), members in by_gpu.items()
    )


def _cell(board: Board, *, reader: Reader, live: LiveState) -> Cell:
    whole = next((one for one in board.members if not one.device.parent), None)
    parts = [one for one in board.members if one.device.parent and one.counts]
    if whole is not None and (whole.counts or not parts):
        tile, parts = tile_of(whole, reader=reader, live=live), []
    else:
        tile = None
    return Cell(
        gpu_name=board.gpu_name,
        tile=tile,
        parts=tuple(
            PartTile(
                tile=tile_of(part, reader=reader, live=live),
                label=part_label(part),
                eighths=_eighths(part, memory_bytes=board.memory_bytes),
            )
            for part in parts
        ),
        is_partitionable=board.is_partitionable,
    )


def _eighths(part: DeviceState, *, memory_bytes: int | None) -> int:
    if not part.device.memory_bytes or not memory_bytes:
        return 1
    return min(EIGHTHS, max(1, round(EIGHTHS * part.device.memory_bytes / memory_bytes)))


def _problem(pool: PoolNumbers) -> str:
    if pool.is_lower_bound:
        return f"pool {pool.pool}: {pool.slices_seen} of {pool.slices_expected} slices seen"
    return f"pool {pool.pool}: {pool.problem}"
