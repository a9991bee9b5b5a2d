"""What an allocation leaves over of split devices that no partition can use any more.

Partitions of a board draw on counters that they share (KEP-4815). What is left of a board is
filled once more, in thought, with the partitions that are still free, the largest first; what
then remains is stranded. Amounts are millionths of a board, as counters have different units.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from dra_console.allocator.model import AllocationResult
from dra_console.allocator.search.records import Record
from dra_console.allocator.search.roster import Roster
from dra_console.allocator.world.counters import Counter, CounterLedger
from dra_console.allocator.world.pools import NodePool, PublishedDevice

WHOLE: Final = 1_000_000

Board: TypeAlias = str
"""A counter set of a pool."""


class Fragments(NamedTuple):
    """What an allocation costs; less is better, in this order."""

    stranded: int
    """How much more is stranded than before; negative if it uses up what was."""

    broken_up: int
    """Boards that were whole before."""


NONE: Final = Fragments(0, 0)


def fragments_of(
    roster: Roster, record: Record, allocations: Sequence[AllocationResult]
) -> Fragments:
    """Tell what allocations on a node, which are not counted as used yet, would cost."""
    if not record.has_counters:
        return NONE
    taken = {
        result.device_id
        for allocation in allocations
        for result in allocation.results
        if not result.admin_access
    }
    stranded = broken_up = 0
    for pool in record.ready:
        drawing = [each for each in pool.all_devices if each.draws and each.id in taken]
        boards = {draw.counter[0] for each in drawing for draw in each.draws}
        if not boards:
            continue
        is_drawn = roster.index.usage.is_drawn
        before = [each for each in pool.all_devices if each.draws and is_drawn(each.id)]
        cost = _Cost(pool, boards)
        after = [*before, *(each for each in drawing if not is_drawn(each.id))]
        stranded += cost.stranded(after) - cost.stranded(before)
        broken_up += len(boards - {draw.counter[0] for each in before for draw in each.draws})
    return Fragments(stranded, broken_up)


class _Cost:
    """Some boards of a pool, and the partitions of them."""

    def __init__(self, pool: NodePool, boards: set[Board]) -> None:
        self._totals: Final = {
            counter: amount for counter, amount in pool.counters.items() if counter[0] in boards
        }
        self._counters: Final = _by_board(self._totals)
        partitions = [
            each
            for each in pool.all_devices
            if any(draw.counter[0] in boards for draw in each.draws)
        ]
        self._largest_first: Final = sorted(
            partitions, key=lambda each: (-self._share(each), each.id)
        )

    def stranded(self, drawn: Iterable[PublishedDevice]) -> int:
        """Add up what no partition can use once these devices are in use."""
        in_use = {each.id: each for each in drawn}
        taken = [draw for each in in_use.values() for draw in each.draws]
        ledger = CounterLedger.of(self._totals, taken=taken, is_blocked_by_overdraft=False)
        for each in self._largest_first:
            if each.id not in in_use:
                ledger.take([draw for draw in each.draws if draw.counter in ledger.free])
        return sum(
            sum(
                max(ledger.free[counter], 0) * WHOLE // self._totals[counter].nanos
                for counter in counters
            )
            // len(counters)
            for counters in self._counters.values()
        )

    def _share(self, partition: PublishedDevice) -> int:
        return sum(
            draw.amount.nanos * WHOLE // self._totals[draw.counter].nanos
            for draw in partition.draws
            if self._totals.get(draw.counter)
        )


def _by_board(totals: Mapping[Counter, object]) -> Mapping[Board, list[Counter]]:
    """Sort counters by board, those without an amount left out."""
    found: dict[Board, list[Counter]] = defaultdict(list)
    for counter, amount in totals.items():
        if amount:
            found[counter[0]].append(counter)
    return found
