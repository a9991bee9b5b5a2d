"""`dra-semantics.md` 3.15: scores of nodes, by how well prioritized lists were served."""

from dra_console.allocator.decoding.decode import decode_claim
from dra_console.allocator.scheduler.scores import score
from dra_console.allocator.search.search import Allocated
from tests.builders.objects import a_prioritized_request, a_wish
from tests.unit.allocator.worlds import claim, outcome, pool, r

LISTS = claim(
    a_prioritized_request("r0", s0=a_wish(device_class="B"), s1=a_wish(device_class="A")),
    a_prioritized_request("r1", s0=a_wish(device_class="A", count=2), s1=a_wish(device_class="B")),
    r("r2"),
)


def test_each_list_counts_by_the_place_of_what_it_got() -> None:
    found = outcome([LISTS], [pool("p", "x", "y", "z", "w")])

    assert isinstance(found, Allocated)
    assert score([(decode_claim(LISTS), found.results[0])]) == 7 + 8


def test_claims_without_lists_count_nothing() -> None:
    found = outcome([claim(r())], [pool("p", "x")])

    assert isinstance(found, Allocated)
    assert score([(decode_claim(claim(r())), found.results[0])]) == 0
