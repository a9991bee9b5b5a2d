"""How many devices can at most be taken together, without trying.

Every bound here is never too low, so a branch that needs more is hopeless, and cutting it
changes no answer.
"""

from collections import Counter as Tally
from collections.abc import Callable, Iterable, Mapping, Sequence

from dra_console.allocator.inventory import AttributeValue, PoolId
from dra_console.allocator.search.constraints import ConstraintState, members_of
from dra_console.allocator.world.counters import Counter, CounterLedger
from dra_console.allocator.world.pools import PublishedDevice


def most_together(
    devices: Iterable[PublishedDevice], *, ledger_of: Callable[[PoolId], CounterLedger]
) -> int:
    """Bound the number of these devices that counters let be taken at once.

    Each counter alone limits how many of the devices that draw on it fit: the ones that draw
    least, until it is used up. The least of these limits holds for the counter set, and the
    sum over sets bounds the whole.
    """
    free_standing = 0
    sharing: dict[tuple[PoolId, str], list[PublishedDevice]] = {}
    for published in devices:
        if published.draws:
            counter_set, _ = published.draws[0].counter
            sharing.setdefault((published.id.pool_id, counter_set), []).append(published)
        else:
            free_standing += 1
    return free_standing + sum(
        _most_of_set(members, ledger_of(pool_id)) for (pool_id, _), members in sharing.items()
    )


def _most_of_set(members: list[PublishedDevice], ledger: CounterLedger) -> int:
    if ledger.overdrawn is not None:
        return 0
    amounts: dict[Counter, list[int]] = {}
    for published in members:
        for draw in published.draws:
            amounts.setdefault(draw.counter, []).append(draw.amount.nanos)
    return min(
        len(members) - len(drawn) + _fitting(drawn, ledger.free[counter])
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


def most_under(state: ConstraintState, values: Sequence[AttributeValue | None]) -> int:
    """Bound the number of devices with these values that a constraint lets be taken at once."""
    if not state.has_lists:
        tally = Tally(values)
        return max(tally.values()) if state.is_match else len(tally)
    if not state.is_match:
        return len(values)
    return max(Tally(each for value in values if value for each in members_of(value)).values())


def serves_all(demands: Sequence[tuple[int, frozenset[int]]], supply: Mapping[int, int]) -> bool:
    """Tell whether every demand can have its number of devices, of kinds that it takes.

    This is a flow: each further device is found by moving others, along a path of demands
    that can give up a kind for another one.
    """
    left = dict(supply)
    served: list[Tally[int]] = [Tally() for _ in demands]
    for index, (count, kinds) in enumerate(demands):
        if count > sum(left[kind] for kind in kinds) + sum(map(Tally.total, served[:index])):
            return False
        for _ in range(count):
            if not _serve_one(index, demands, left, served):
                return False
    return True


def _serve_one(
    index: int,
    demands: Sequence[tuple[int, frozenset[int]]],
    left: dict[int, int],
    served: list[Tally[int]],
) -> bool:
    """Find one more device for a demand, breadth first."""
    came_from: dict[int, tuple[int, int]] = {}
    """Of a demand on the path: the demand before it, and the kind that this one gives to it."""
    queue = [index]
    seen_kinds: set[int] = set()
    for at in queue:
        for kind in demands[at][1] - seen_kinds:
            seen_kinds.add(kind)
            if left[kind] > 0:
                left[kind] -= 1
                _move(kind, at, came_from, served)
                return True
            for other, has in enumerate(served):
                if has[kind] > 0 and other != index and other not in came_from:
                    came_from[other] = (at, kind)
                    queue.append(other)
    return False


def _move(
    kind: int, at: int, came_from: Mapping[int, tuple[int, int]], served: list[Tally[int]]
) -> None:
    served[at][kind] += 1
    while at in came_from:
        before, given = came_from[at]
        served[at][given] -= 1
        served[before][given] += 1
        at = before
