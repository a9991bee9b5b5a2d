"""What was given away twice is found, and nothing else is."""

from collections.abc import Sequence

from hypothesis import assume, given
from hypothesis import strategies as st

from dra_console.allocator.api_json import object_of
from dra_console.allocator.decoding.decode import decode_claim, decode_snapshot
from dra_console.allocator.model import Json, JsonObject
from dra_console.allocator.search.search import Allocated, allocate
from dra_console.scheduling.coexistence.double_bookings import double_bookings
from dra_console.scheduling.coexistence.facts import pools_of
from dra_console.scheduling.coexistence.findings import Finding, FindingKind
from tests.builders.objects import (
    a_class,
    a_counter_set,
    a_device,
    a_result,
    a_slice,
    an_allocated_claim,
)
from tests.builders.strategies import claims, worlds
from tests.unit.scheduling.coexistence.known_worlds import found, known

SHARE = "00000000-0000-4000-8000-00000000000{}"


def allocated_in_turn(world: Sequence[JsonObject], asked: Sequence[JsonObject]) -> list[JsonObject]:
    """Let the allocator serve claims one after the other, each on the first node that fits."""
    objects = list(world)
    for index, claim in enumerate(asked):
        named: JsonObject = {
            **claim,
            "metadata": {"namespace": "t", "name": f"c{index}", "uid": f"asked-{index}"},
        }
        snapshot = decode_snapshot(objects)
        for node in snapshot.nodes:
            outcome = allocate(snapshot, [decode_claim(named)], node=node)
            if isinstance(outcome, Allocated):
                allocation = outcome.results[0].to_json()
                objects.append({**named, "status": {"allocation": allocation}})
                break
    return objects


def booked_twice(*objects: JsonObject) -> list[Finding]:
    world = known(*objects)
    return list(double_bookings(world, pools_of(world.slices or ())))


def is_held_alone(world: Sequence[JsonObject]) -> bool:
    """Tell whether the drawn claims of the world itself do not overlap by counters."""
    return not (booked_twice(*world))


@given(world=worlds(), asked=st.lists(claims(), min_size=1, max_size=4))
def test_what_the_allocator_gave_away_is_never_a_double_booking(
    world: list[JsonObject], asked: list[JsonObject]
) -> None:
    assume(is_held_alone(world))

    assert not (booked_twice(*allocated_in_turn(world, asked)))


@given(
    world=worlds(),
    asked=st.lists(claims(), min_size=1, max_size=4),
    pick=st.integers(0, 100),
)
def test_every_device_that_is_given_to_a_second_claim_is_found(
    world: list[JsonObject], asked: list[JsonObject], pick: int
) -> None:
    objects = allocated_in_turn(world, asked)
    holders = [one for one in objects if one["kind"] == "ResourceClaim"]
    assume(holders)
    first = holders[pick % len(holders)]
    second: JsonObject = {
        **first,
        "metadata": {"namespace": "other", "name": "planted", "uid": "planted"},
    }
    results = object_of(object_of(object_of(first["status"])["allocation"])["devices"])["results"]
    assert isinstance(results, list)
    planted = {
        (str(one["driver"]), str(one["pool"]), str(one["device"]))
        for one in results
        if isinstance(one, dict)
    }

    told = [
        finding
        for finding in booked_twice(*objects, second)
        if finding.kind is FindingKind.DOUBLE_BOOKING
    ]

    assert {finding.device for finding in told} == planted
    assert all(
        {(claim.namespace, claim.name) for claim in finding.claims} >= {("other", "planted")}
        for finding in told
    )


def test_admin_access_never_counts() -> None:
    watching = an_allocated_claim("watch", results=[a_result(adminAccess=True)])

    assert not found(FindingKind.DOUBLE_BOOKING, a_slice(), an_allocated_claim(), watching)


def test_one_claim_that_has_a_device_twice_is_told_as_one_claim() -> None:
    twice = an_allocated_claim(results=[a_result(request="a"), a_result(request="b")])

    [finding] = found(FindingKind.DOUBLE_BOOKING, a_slice(), twice)

    assert finding.facts["one_claim"] == "yes"
    assert [claim.note for claim in finding.claims] == ["request a", "request b"]


def shared(number: int, amount: str) -> JsonObject:
    consumed: Json = {"memory": amount}
    result = a_result(shareID=SHARE.format(number), consumedCapacity=consumed)
    return an_allocated_claim(f"share-{number}", results=[result])


def a_shared_slice(memory: str = "80Gi") -> JsonObject:
    return a_slice(devices=[a_device(memory=memory, allowMultipleAllocations=True)])


def test_shares_may_add_up_to_all_that_the_device_has() -> None:
    objects = (a_shared_slice(), shared(1, "40Gi"), shared(2, "40Gi"))

    assert not found(FindingKind.OVERDRAWN_CAPACITY, *objects)
    assert not found(FindingKind.DOUBLE_BOOKING, *objects)


def test_shares_beyond_the_capacity_are_found_with_their_amounts() -> None:
    [finding] = found(
        FindingKind.OVERDRAWN_CAPACITY, a_shared_slice(), shared(1, "40Gi"), shared(2, "50Gi")
    )

    assert (finding.facts["taken"], finding.facts["published"]) == ("90Gi", "80Gi")
    assert [claim.note for claim in finding.claims] == ["memory 40Gi", "memory 50Gi"]


def test_one_share_of_a_device_that_shrank_is_found() -> None:
    assert found(FindingKind.OVERDRAWN_CAPACITY, a_shared_slice("20Gi"), shared(1, "40Gi"))


def test_a_share_beside_exclusive_use_is_a_double_booking() -> None:
    [finding] = found(
        FindingKind.DOUBLE_BOOKING, a_shared_slice(), shared(1, "1Gi"), an_allocated_claim()
    )

    assert {claim.name for claim in finding.claims} == {"held", "share-1"}


def a_partitioned_pool(total: str) -> list[JsonObject]:
    counters = a_counter_set("board", {"memory": total})
    return [
        a_slice("counters", slice_count=2, sharedCounters=[counters]),
        a_slice(
            "devices",
            slice_count=2,
            devices=[
                a_device("whole", consumes={"board": {"memory": "80Gi"}}),
                a_device("half", consumes={"board": {"memory": "40Gi"}}),
            ],
        ),
    ]


def both_partitions() -> list[JsonObject]:
    return [
        an_allocated_claim(name, results=[a_result(name)], namespace=f"team-{name}")
        for name in ("whole", "half")
    ]


def test_overlapping_partitions_are_found_by_their_counters() -> None:
    [finding] = found(
        FindingKind.OVERDRAWN_COUNTERS, *a_partitioned_pool("80Gi"), *both_partitions()
    )

    assert finding.facts == {"counter_set": "board", "amounts": "memory 120Gi of 80Gi"}
    assert finding.namespaces == {"team-whole", "team-half"}


def test_partitions_that_fit_side_by_side_are_not_told() -> None:
    objects = (*a_partitioned_pool("120Gi"), *both_partitions())

    assert not found(FindingKind.OVERDRAWN_COUNTERS, *objects)


def test_a_device_of_two_shares_draws_its_counters_once() -> None:
    counters = a_counter_set("board", {"memory": "80Gi"})
    device = a_device(
        consumes={"board": {"memory": "80Gi"}}, memory="80Gi", allowMultipleAllocations=True
    )
    objects = (
        a_slice("counters", slice_count=2, sharedCounters=[counters]),
        a_slice("devices", slice_count=2, devices=[device]),
        a_class(),
        shared(1, "10Gi"),
        shared(2, "10Gi"),
    )

    assert not found(FindingKind.OVERDRAWN_COUNTERS, *objects)


def test_two_requests_of_claims_on_different_devices_are_not_told() -> None:
    devices = [a_device("gpu-0"), a_device("gpu-1")]
    other = an_allocated_claim("other", results=[a_result("gpu-1")])

    assert not found(
        FindingKind.DOUBLE_BOOKING, a_slice(devices=devices), an_allocated_claim(), other
    )
