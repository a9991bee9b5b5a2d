"""How many devices can at most be taken together, without trying.

Every bound here is never too low, so a branch that needs more is hopeless, and cutting it
changes no answer.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from dra_console.allocator.inventory import PoolId
from dra_console.allocator.search.constraints import ConstraintState
from dra_console.allocator.search.looks import Places
from dra_console.allocator.world.counters import Counter, CounterLedger
from dra_console.allocator.world.pools import PublishedDevice

EVERYWHERE: Final[Places] = -1

Demand: TypeAlias = tuple[int, Places]
"""How many devices are asked for, and which would do."""


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


def serves_all(demands: Sequence[Demand], *, free: Places) -> bool:
    """Tell whether every demand can have its number of the free devices.

    Demands with few devices to choose from come first; for a demand that finds none left,
    others give up one and take another instead, along a path.
    """
    ordered = sorted(demands, key=lambda demand: (demand[1] & free).bit_count() - demand[0])
    held = [0] * len(ordered)
    for index, (count, places) in enumerate(ordered):
        for _ in range(count):
            found = places & free
            if found:
                taken = found & -found
                held[index] |= taken
                free ^= taken
                continue
            taken = _make_room(index, ordered, held, free)
            if not taken:
                return False
            free ^= taken
    return True


def _make_room(index: int, demands: Sequence[Demand], held: list[Places], free: Places) -> Places:
    """Move demands so that this one has one device more; return the device that was free."""
    reached = {index: (index, 0)}
    """Of a demand on the path: for which one it gives up which device."""
    queue = [index]
    seen = 0
    for at in queue:
        found = demands[at][1] & free
        if found:
            taken = found & -found
            _pass_on(taken, at, index, reached, held)
            return taken
        for other in range(index):
            wanted = demands[at][1] & held[other] & ~seen
            if wanted and other not in reached:
                given = wanted & -wanted
                seen |= given
                reached[other] = (at, given)
                queue.append(other)
    return 0


def _pass_on(
    taken: Places,
    last: int,
    first: int,
    reached: Mapping[int, tuple[int, Places]],
    held: list[Places],
) -> None:
    """Let the last demand on a path take a device, and each give up one for the demand before."""
    at = last
    while at != first:
        before, given = reached[at]
        held[at] ^= given | taken
        at, taken = before, given
    held[first] |= taken


def permitted(state: ConstraintState, values: Mapping[Hashable, Places]) -> Places:
    """Return where a constraint lets the next device be taken."""
    if not state.values:
        return EVERYWHERE
    if state.has_lists:
        if state.is_match:
            return union_of(values.get(each, 0) for each in state.common[-1])
        return ~union_of(values.get(each, 0) for members in state.common for each in members)
    if state.is_match:
        first = state.values[0]
        return 0 if _is_open(first) else values.get(first, 0)
    used = set(state.values)
    return ~union_of(places for value, places in values.items() if value in used or _is_open(value))


def _is_open(value: Hashable) -> bool:
    """Tell whether a value is equal to none, as lists are whose gate is off."""
    content = getattr(value, "value", None)
    return content is None or isinstance(content, tuple)


def most_under(state: ConstraintState, values: Mapping[Hashable, Places], left: Places) -> int:
    """Bound the number of devices that a constraint lets be taken at once."""
    groups = [places & left for places in values.values() if places & left]
    if not state.is_match:
        return left.bit_count() if state.has_lists else len(groups)
    return max((group.bit_count() for group in groups), default=0)


def union_of(many: Iterator[Places]) -> Places:
    """Unite sets of devices."""
    union = 0
    for places in many:
        union |= places
    return union
