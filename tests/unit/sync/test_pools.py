from datetime import UTC, datetime

import pytest

from dra_console.allocator.model import Json, JsonObject
from dra_console.kube.kinds import RESOURCE_SLICES
from dra_console.mirror.models import Cluster, Device, Pool
from dra_console.sync.objects import ObjectKey
from dra_console.sync.reconcile import apply
from tests.builders.objects import a_counter_set, a_device, a_slice
from tests.unit.sync.rows import at_version

pytestmark = pytest.mark.django_db

NOON = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)


@pytest.fixture
def cluster() -> Cluster:
    return Cluster.objects.create(name="prod")


def see(cluster: Cluster, *slices: JsonObject) -> None:
    apply(cluster, kind=RESOURCE_SLICES, objects=slices, seen_at=NOON)


def device_names() -> list[str]:
    return sorted(Device.objects.values_list("name", flat=True))


def test_a_pool_is_complete_once_all_slices_of_its_generation_are_seen(cluster: Cluster) -> None:
    see(cluster, a_slice("a", slice_count=2, devices=[a_device("gpu-0")]))
    pool = Pool.objects.get()
    assert (pool.slices_seen, pool.slices_expected, pool.is_complete) == (1, 2, False)
    assert pool.problem == "1 of 2 slices of generation 1 seen"

    see(cluster, a_slice("b", slice_count=2, devices=[a_device("gpu-1")]))
    pool = Pool.objects.get()
    assert (pool.is_complete, pool.problem, pool.node_name) == (True, "", "gpu-01")
    assert device_names() == ["gpu-0", "gpu-1"]


def test_devices_of_an_older_generation_are_gone_from_the_pool(cluster: Cluster) -> None:
    see(cluster, a_slice("old", devices=[a_device("gpu-0"), a_device("gpu-1")]))

    see(cluster, a_slice("new", generation=2, devices=[a_device("gpu-0")]))

    assert [(device.slice.name, device.name) for device in Device.objects.all()] == [
        ("new", "gpu-0")
    ]
    assert Pool.objects.get().generation == 2


def test_the_older_generation_is_back_when_the_newer_one_is_withdrawn(cluster: Cluster) -> None:
    see(cluster, a_slice("old", devices=[a_device("gpu-0")]), a_slice("new", generation=2))

    apply(cluster, kind=RESOURCE_SLICES, objects=(), gone=[ObjectKey("", "new")], seen_at=NOON)

    assert Pool.objects.get().generation == 1
    assert device_names() == ["gpu-0"]


def test_a_pool_without_slices_is_no_pool(cluster: Cluster) -> None:
    see(cluster, a_slice("only"))

    apply(cluster, kind=RESOURCE_SLICES, objects=(), gone=[ObjectKey("", "only")], seen_at=NOON)

    assert not Pool.objects.exists()
    assert not Device.objects.exists()


def test_two_drivers_may_give_their_pools_one_name(cluster: Cluster) -> None:
    see(
        cluster,
        a_slice("a", driver="gpu.nvidia.com", devices=[a_device("gpu-0")]),
        a_slice("b", driver="nic.example.com", devices=[a_device("nic-0")]),
    )

    see(cluster, at_version(a_slice("b", driver="nic.example.com", devices=[]), 2))

    assert Pool.objects.count() == 2
    assert device_names() == ["gpu-0"]


@pytest.mark.parametrize(
    ("slices", "problem"),
    [
        (
            [a_slice("a", slice_count=2), a_slice("b", slice_count=3)],
            "its slices disagree on resourceSliceCount: 2, 3",
        ),
        (
            [a_slice("a", slice_count=2), a_slice("b", slice_count=2)],
            "device name occurs more than once: gpu-0",
        ),
        (
            [a_slice(devices=[a_device(consumes={"board": {"memory": "1Gi"}})])],
            "device gpu-0: counter set board is not in the pool",
        ),
        (
            [
                a_slice("a", slice_count=2, sharedCounters=[a_counter_set("board", {"dies": "1"})]),
                a_slice(
                    "b",
                    slice_count=2,
                    devices=[a_device(consumes={"board": {"memory": "1Gi"}})],
                ),
            ],
            "device gpu-0: counter board/memory is not in the pool",
        ),
        (
            [
                a_slice("a", slice_count=2, sharedCounters=[a_counter_set("board", {"dies": "1"})]),
                a_slice("b", slice_count=2, sharedCounters=[a_counter_set("board", {"dies": "1"})]),
            ],
            "counter set occurs more than once: board",
        ),
    ],
)
def test_a_pool_says_why_nothing_of_it_can_be_allocated(
    cluster: Cluster, slices: list[JsonObject], problem: str
) -> None:
    see(cluster, *slices)

    assert Pool.objects.get().problem == problem


def test_a_device_with_an_odd_quantity_is_mirrored_and_named_as_the_problem(
    cluster: Cluster,
) -> None:
    see(cluster, a_slice(devices=[a_device("gpu-0", memory="plenty"), a_device("gpu-1")]))

    assert device_names() == ["gpu-0", "gpu-1"]
    problem = Pool.objects.get().problem
    assert "spec.devices[0].capacity" in problem
    assert "plenty" in problem


def test_a_version_attribute_that_is_not_semver_is_no_problem_of_the_pool(
    cluster: Cluster,
) -> None:
    odd: Json = {"version": "five-fifty"}

    see(cluster, a_slice(devices=[a_device(attributes={"driverVersion": odd})]))

    assert Pool.objects.get().problem == ""
    assert Device.objects.get().attributes == {"driverVersion": odd}


def test_a_name_that_occurs_twice_in_one_slice_stops_nothing(cluster: Cluster) -> None:
    see(cluster, a_slice(devices=[a_device("gpu-0", memory="80Gi"), a_device("gpu-0", memory="1")]))

    assert Device.objects.get().memory_bytes == 80 * 2**30
    assert Pool.objects.get().problem == "device name occurs more than once: gpu-0"


def test_devices_of_an_older_api_version_are_read_like_new_ones(cluster: Cluster) -> None:
    device: JsonObject = {"name": "gpu-0", "basic": {"capacity": {"memory": {"value": "40Gi"}}}}

    see(cluster, a_slice(devices=[device]) | {"apiVersion": "resource.k8s.io/v1beta1"})

    assert Device.objects.get().memory_bytes == 40 * 2**30


def test_a_slice_without_a_usable_pool_is_mirrored_with_its_problem(cluster: Cluster) -> None:
    odd = a_slice("odd")
    odd["spec"] = {"driver": "gpu.nvidia.com", "pool": {"name": "p", "generation": "new"}}

    see(cluster, odd, a_slice("fine"))

    assert "spec.pool.generation" in Pool.objects.get(name="p").problem
    assert Pool.objects.get(name="gpu-01").problem == ""
