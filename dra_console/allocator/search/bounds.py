"""How many partitions can at most be taken together, without trying.

Each counter alone limits how many of the devices that draw on it fit: the ones that draw
least, until it is used up. The least of these limits holds for the counter set, and the
sum over sets bounds the whole. It is never too low, so a branch that needs more is
hopeless, and cutting it changes no answer.
"""

from collections.abc import Iterable, Mapping

from dra_console.allocator.inventory import PoolId
from dra_console.allocator.world.counters import Counter, CounterLedger
from dra_console.allocator.world.pools import PublishedDevice


def most_together(
    devices: Iterable[PublishedDevice], *, ledgers: Mapping[PoolId, CounterLedger]
) -> int:
    """Bound the number of these devices that counters let be taken at once."""
    free_standing = 0
    sharing: dict[tuple[PoolId, str], list[PublishedDevice]] = {}
    for published in devices:
        if published.draws:
            counter_set, _ = published.draws[0].counter
            sharing.setdefault((published.id.pool_id, counter_set), []).append(published)
        else:
            free_standing += 1
    return free_standing + sum(
        _most_of_set(members, ledgers[pool_id]) for (pool_id, _), members in sharing.items()
    )


def _most_of_set(members: list[PublishedDevice], ledger: CounterLedger) -> int:
    amounts: dict[Counter, list[int]] = {}
    for published in members:
        for draw in published.draws:
            amounts.setdefault(draw.counter, []).append(draw.amount.nanos)
    return min(
        len(members) - len(drawn) + _fitting(drawn, ledger.free[counter].nanos)
        for counter, drawn in amounts.items()
    )


def _fitting(amounts: list[int], free: int) -> int:
    count = 0
    for amount in sorted(amounts):
        free -= amount
        if free < 0:
            break
        count += 1
    return count
