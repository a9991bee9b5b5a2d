import pytest

from dra_console.allocator.model import Json, JsonObject
from dra_console.mirror.models import ResourceSlice
from dra_console.sync.devices import DeviceRow, device_row, names_by_uuid
from tests.builders.objects import DRIVER, a_device

GIBIBYTE = 2**30


def facts(device: JsonObject, *others: JsonObject) -> DeviceRow:
    uuids = names_by_uuid([device, *others], driver=DRIVER)
    return device_row(ResourceSlice(driver=DRIVER), device, position=0, uuids=uuids)


def test_product_and_memory_are_read_from_unqualified_and_qualified_names() -> None:
    bare = facts(a_device(attributes={"productName": "NVIDIA L4"}, memory="24Gi"))
    qualified = facts(
        a_device(
            memory=None,
            attributes={f"{DRIVER}/productName": "NVIDIA L4"},
            capacity={f"{DRIVER}/memory": {"value": "24Gi"}},
        )
    )

    assert (bare.product_name, bare.memory_bytes) == ("NVIDIA L4", 24 * GIBIBYTE)
    assert (qualified.product_name, qualified.memory_bytes) == ("NVIDIA L4", 24 * GIBIBYTE)


@pytest.mark.parametrize(
    ("value", "memory_bytes"),
    [
        ("1e3", 1000),
        ("0.5", 1),
        ("1Ki", 1024),
        (4096, 4096),
        ("1e30", 2**63 - 1),
        ("lots", None),
        (True, None),
        (None, None),
        ({"value": "1"}, None),
    ],
)
def test_odd_quantities_are_read_as_kubernetes_does_or_not_known(
    value: Json, memory_bytes: int | None
) -> None:
    device = a_device(memory=None, capacity={"memory": {"value": value}})

    assert facts(device).memory_bytes == memory_bytes


def test_memory_that_is_not_published_is_not_known() -> None:
    assert facts(a_device(memory=None)).memory_bytes is None


def test_a_partition_belongs_to_the_gpu_with_its_parents_uuid() -> None:
    gpu = a_device("board-a", attributes={"uuid": "GPU-1"})
    partition = a_device("part-7", attributes={"uuid": "MIG-1", "parentUUID": "GPU-1"})

    assert facts(partition, gpu).parent == "board-a"
    assert facts(gpu, partition).parent == ""


def test_a_partition_of_an_unpublished_gpu_is_placed_by_its_counter_set() -> None:
    partition = a_device(
        "gpu-0-mig-1g5gb-19-0",
        attributes={"parentUUID": "GPU-1"},
        consumes={"gpu-0-counter-set": {"memory-slice-0": "1"}},
    )

    assert facts(partition).parent == "gpu-0"


def test_a_whole_gpu_that_draws_on_its_own_counters_is_no_partition() -> None:
    gpu = a_device("gpu-0", consumes={"gpu-0-counter-set": {"memory-slice-0": "1"}})

    assert facts(gpu).parent == ""


def test_a_static_partition_is_placed_by_its_name() -> None:
    partition = a_device("gpu-3-mig-1g5gb-19-0", attributes={"parentUUID": "GPU-1"})

    assert facts(partition).parent == "gpu-3"


def test_a_device_that_shares_counters_under_another_name_is_no_partition() -> None:
    assert facts(a_device("nic-0", consumes={"bandwidth": {"gigabits": "10"}})).parent == ""
