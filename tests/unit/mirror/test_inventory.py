import pytest
from pytest_django import DjangoAssertNumQueries

from dra_console.allocator.model import Json, JsonObject
from dra_console.mirror.inventory import (
    DeviceState,
    State,
    device_states,
    device_states_of_pool,
)
from dra_console.mirror.models import Cluster
from dra_console.mirror.tallies import Tally, pool_numbers, tally
from tests.builders.mirrored import mirror
from tests.builders.objects import (
    a_counter_set,
    a_device,
    a_node,
    a_result,
    a_slice,
    a_taint,
    a_taint_rule,
    an_allocated_claim,
)

pytestmark = pytest.mark.django_db

QUERIES = 7


@pytest.fixture
def cluster() -> Cluster:
    return Cluster.objects.create(name="prod")


def states_by_name(cluster: Cluster) -> dict[str, DeviceState]:
    return {state.device.name: state for state in device_states(cluster)}


def a_ready_node(name: str = "gpu-01", *, ready: str = "True", **spec: Json) -> JsonObject:
    node = a_node(name)
    return {**node, "spec": spec, "status": {"conditions": [{"type": "Ready", "status": ready}]}}


def a_gpu(name: str = "gpu-0", **fields: Json) -> JsonObject:
    return a_device(name, attributes={"productName": "NVIDIA H100"}, **fields)  # type: ignore[arg-type]  # further fields of a device


def a_board(pool: str = "mig-01") -> list[JsonObject]:
    """One GPU of 40Gi in slices of 5Gi, published whole, as halves and as eighths."""
    options = {"whole": "40Gi", "half-0": "20Gi", "half-1": "20Gi"}
    options |= {f"eighth-{number}": "5Gi" for number in range(8)}
    devices = [
        a_device(name, memory=memory, consumes={"board": {"memory": memory}})
        for name, memory in options.items()
    ]
    counters: list[Json] = [a_counter_set("board", {"memory": "40Gi"})]
    return [
        a_slice(f"{pool}-a", node=pool, pool=pool, slice_count=2, sharedCounters=counters),
        a_slice(f"{pool}-b", node=pool, pool=pool, slice_count=2, devices=devices),
    ]


def test_a_device_that_nobody_holds_is_free(cluster: Cluster) -> None:
    mirror(cluster, a_ready_node(), a_slice(devices=[a_gpu()]))

    state = states_by_name(cluster)["gpu-0"]

    assert (state.state, state.reason, state.holders) == (State.FREE, "", ())
    assert state.key == ("gpu.nvidia.com", "gpu-01", "gpu-0")
    assert state.node_name == "gpu-01"


def test_an_allocated_device_is_held_by_its_claim_reserved_or_not(cluster: Cluster) -> None:
    mirror(cluster, a_ready_node(), a_slice(devices=[a_gpu()]), an_allocated_claim("held"))

    state = states_by_name(cluster)["gpu-0"]

    assert state.state is State.HELD
    assert [(one.claim_namespace, one.claim_name) for one in state.holders] == [
        ("team-research", "held")
    ]


def test_admin_access_watches_a_device_without_holding_it(cluster: Cluster) -> None:
    watched = an_allocated_claim("monitor", results=[a_result(adminAccess=True)])
    mirror(cluster, a_ready_node(), a_slice(devices=[a_gpu()]), watched)

    state = states_by_name(cluster)["gpu-0"]

    assert state.state is State.FREE
    assert [one.admin_access for one in state.holders] == [True]


@pytest.mark.parametrize("effect", ["NoSchedule", "NoExecute"])
def test_a_taint_that_keeps_claims_off_makes_a_device_tainted(
    cluster: Cluster, effect: str
) -> None:
    mirror(cluster, a_ready_node(), a_slice(devices=[a_gpu(taints=[a_taint(effect=effect)])]))

    state = states_by_name(cluster)["gpu-0"]

    assert state.state is State.TAINTED
    assert state.reason == f"gpu.nvidia.com/xid=79:{effect}"


def test_a_taint_that_only_informs_leaves_a_device_free(cluster: Cluster) -> None:
    mirror(cluster, a_ready_node(), a_slice(devices=[a_gpu(taints=[a_taint(effect="None")])]))

    state = states_by_name(cluster)["gpu-0"]

    assert state.state is State.FREE
    assert [taint.effect for taint in state.taints] == ["None"]


def test_a_taint_rule_taints_the_devices_that_it_selects(cluster: Cluster) -> None:
    rule = a_taint_rule("drain", taint=a_taint("drain", ""), pool="gpu-01", device="gpu-1")
    mirror(cluster, a_ready_node(), a_slice(devices=[a_gpu("gpu-0"), a_gpu("gpu-1")]), rule)

    states = states_by_name(cluster)

    assert states["gpu-0"].state is State.FREE
    assert states["gpu-1"].state is State.TAINTED
    assert states["gpu-1"].reason == "drain:NoSchedule (rule drain)"


def test_a_held_device_stays_held_when_it_falls_sick(cluster: Cluster) -> None:
    sick = a_slice(devices=[a_gpu(taints=[a_taint(effect="NoExecute")])])
    mirror(cluster, a_ready_node(), sick, an_allocated_claim())

    state = states_by_name(cluster)["gpu-0"]

    assert state.state is State.HELD
    assert state.taints[0].keeps_off


@pytest.mark.parametrize(
    ("node", "reason"),
    [
        (a_ready_node(ready="False"), "node gpu-01 is not ready"),
        (a_ready_node(unschedulable=True), "node gpu-01 is cordoned"),
        (a_ready_node("gpu-02"), "node gpu-01 is not in the cluster"),
    ],
)
def test_a_device_on_a_node_that_takes_no_pods_is_unavailable(
    cluster: Cluster, node: JsonObject, reason: str
) -> None:
    mirror(cluster, node, a_slice(devices=[a_gpu()]))

    state = states_by_name(cluster)["gpu-0"]

    assert (state.state, state.reason) == (State.UNAVAILABLE, reason)


def test_devices_of_an_incomplete_pool_are_unavailable_and_numbers_lower_bounds(
    cluster: Cluster,
) -> None:
    mirror(cluster, a_ready_node(), a_slice(devices=[a_gpu()], slice_count=2))

    states = device_states(cluster)
    [numbers] = pool_numbers(cluster, states=states)

    assert states[0].state is State.UNAVAILABLE
    assert states[0].reason == "pool is being updated: 1 of 2 slices seen"
    assert numbers.is_lower_bound
    assert (numbers.slices_seen, numbers.slices_expected) == (1, 2)
    assert numbers.tally == Tally(free=0, held=0, tainted=0, unavailable=1)


def test_devices_of_an_invalid_pool_say_what_is_wrong(cluster: Cluster) -> None:
    draws_on_nothing = a_gpu(consumes={"missing": {"memory": "1Gi"}})
    mirror(cluster, a_ready_node(), a_slice(devices=[draws_on_nothing]))

    state = states_by_name(cluster)["gpu-0"]

    assert state.state is State.UNAVAILABLE
    assert "missing" in state.reason


def test_an_idle_board_counts_once_however_it_can_be_cut(cluster: Cluster) -> None:
    mirror(cluster, a_ready_node("mig-01"), *a_board())

    states = device_states(cluster)

    assert {state.state for state in states} == {State.FREE}
    assert [state.device.name for state in states if state.counts] == ["whole"]
    assert tally(states) == Tally(free=1, held=0, tainted=0, unavailable=0)


def test_a_partition_whose_counters_are_used_up_is_blocked(cluster: Cluster) -> None:
    held = an_allocated_claim(results=[a_result("half-0", pool="mig-01")], node="mig-01")
    mirror(cluster, a_ready_node("mig-01"), *a_board(), held)

    states = states_by_name(cluster)

    assert states["whole"].state is State.UNAVAILABLE
    assert states["whole"].is_blocked
    assert states["whole"].reason == (
        "blocked by held partitions: counter memory of board: needs 40Gi, 20Gi left"
    )
    assert states["half-1"].state is State.FREE


def test_what_is_left_of_a_board_counts_as_its_largest_options(cluster: Cluster) -> None:
    held = an_allocated_claim(results=[a_result("eighth-0", pool="mig-01")], node="mig-01")
    mirror(cluster, a_ready_node("mig-01"), *a_board(), held)

    states = device_states(cluster)
    [numbers] = pool_numbers(cluster, states=states)

    counted = [state.device.name for state in states if state.counts]
    assert counted == ["half-0", "eighth-0", "eighth-1", "eighth-2", "eighth-3"]
    assert numbers.tally == Tally(free=4, held=1, tainted=0, unavailable=0)
    [balance] = numbers.counters
    assert (balance.counter_set, balance.counter) == ("board", "memory")
    assert (str(balance.total), str(balance.held)) == ("40Gi", "5Gi")


def test_an_over_committed_board_blocks_every_partition(cluster: Cluster) -> None:
    both = [a_result("whole", pool="mig-01"), a_result("half-0", pool="mig-01")]
    mirror(cluster, a_ready_node("mig-01"), *a_board(), an_allocated_claim(results=both))

    states = states_by_name(cluster)

    assert states["eighth-0"].is_blocked
    assert tally(states.values()) == Tally(free=0, held=2, tainted=0, unavailable=0)


def test_the_parts_of_a_pool_are_its_total(cluster: Cluster) -> None:
    devices = [a_gpu("gpu-0"), a_gpu("gpu-1", taints=[a_taint()]), a_gpu("gpu-2")]
    mirror(
        cluster,
        a_ready_node(),
        a_ready_node("gpu-02", ready="False"),
        a_slice(devices=devices),
        a_slice(node="gpu-02", devices=[a_device("gpu-0")]),
        an_allocated_claim(),
    )

    states = device_states(cluster)
    first, second = pool_numbers(cluster, states=states)

    assert first.tally == Tally(free=1, held=1, tainted=1, unavailable=0)
    assert second.tally == Tally(free=0, held=0, tainted=0, unavailable=1)
    assert tally(states).total == first.tally.total + second.tally.total == 4


def test_an_older_generation_of_counters_does_not_count(cluster: Cluster) -> None:
    old: list[Json] = [a_counter_set("board", {"memory": "80Gi"})]
    stale = a_slice("stale", node="mig-01", generation=0, slice_count=2, sharedCounters=old)
    mirror(cluster, a_ready_node("mig-01"), *a_board(), stale)

    [numbers] = pool_numbers(cluster, states=device_states(cluster))

    assert [str(balance.total) for balance in numbers.counters] == ["40Gi"]


def test_one_pool_reads_as_in_the_whole_cluster(cluster: Cluster) -> None:
    mirror(
        cluster,
        a_ready_node(),
        a_ready_node("mig-01"),
        a_slice(devices=[a_gpu()]),
        *a_board(),
        an_allocated_claim(results=[a_result("half-0", pool="mig-01")], node="mig-01"),
    )

    of_pool = device_states_of_pool(cluster, driver="gpu.nvidia.com", pool="mig-01")

    assert of_pool == [one for one in device_states(cluster) if one.device.pool == "mig-01"]
    assert device_states_of_pool(cluster, driver="gpu.nvidia.com", pool="nowhere") == []


def test_another_cluster_does_not_shine_through(cluster: Cluster) -> None:
    other = Cluster.objects.create(name="other")
    mirror(other, a_ready_node(), a_slice(devices=[a_gpu("gpu-9")]), an_allocated_claim())
    mirror(cluster, a_ready_node(), a_slice(devices=[a_gpu()]))

    assert [state.state for state in device_states(cluster)] == [State.FREE]


@pytest.mark.parametrize("nodes", [1, 20])
def test_states_take_a_fixed_number_of_queries(
    cluster: Cluster, nodes: int, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(nodes):
        name = f"gpu-{number:02}"
        mirror(cluster, a_ready_node(name), a_slice(node=name, devices=[a_gpu(), a_gpu("gpu-1")]))

    with django_assert_num_queries(QUERIES):
        states = device_states(cluster)
    with django_assert_num_queries(2):
        numbers = pool_numbers(cluster, states=states)

    assert len(states) == 2 * nodes
    assert len(numbers) == nodes
