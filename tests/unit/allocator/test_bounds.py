"""The bound on partitions is never too low, so what it cuts off is really hopeless."""

from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from dra_console.allocator.decoding.decode import decode_slice
from dra_console.allocator.quantity import Quantity
from dra_console.allocator.search.bounds import most_together
from dra_console.allocator.world.counters import CounterLedger
from dra_console.allocator.world.pools import PublishedDevice, publish
from tests.builders.objects import a_device, a_slice

COUNTERS = [(board, counter) for board in ("b0", "b1") for counter in ("memory", "slices")]

Amounts = dict[tuple[str, str], int]


def publish_all(devices: list[Amounts]) -> tuple[PublishedDevice, ...]:
    bodies = []
    for index, amounts in enumerate(devices):
        consumes: dict[str, dict[str, str]] = {}
        for (board, counter), amount in amounts.items():
            consumes.setdefault(board, {})[counter] = str(amount)
        bodies.append(a_device(f"d{index}", consumes=consumes))
    return publish(decode_slice(a_slice(devices=bodies))).devices


@settings(deadline=None)
@given(
    devices=st.lists(
        st.dictionaries(st.sampled_from(COUNTERS), st.integers(0, 4), max_size=3), max_size=6
    ),
    free=st.fixed_dictionaries({counter: st.integers(-1, 8) for counter in COUNTERS}),
)
def test_no_more_partitions_fit_than_the_bound_says(devices: list[Amounts], free: Amounts) -> None:
    published = publish_all(devices)
    totals = {counter: Quantity.of(amount) for counter, amount in free.items()}

    bound = most_together(published, ledger_of=lambda _pool: CounterLedger.of(totals, taken=()))

    assert bound >= most_that_fit(published, totals)


def most_that_fit(
    published: tuple[PublishedDevice, ...], totals: dict[tuple[str, str], Quantity]
) -> int:
    """Try all subsets, the largest first."""
    for count in range(len(published), 0, -1):
        for subset in combinations(published, count):
            ledger = CounterLedger.of(totals, taken=())
            if all(ledger.take(each.draws) for each in subset):
                return count
    return 0
