import pytest

from nodeagent.devices.model import Inventory, MigMode, Source
from nodeagent.devices.profiles import PROFILES, gpus


@pytest.mark.parametrize("profile", PROFILES)
def test_two_nodes_of_one_profile_share_no_uuid(profile: str) -> None:
    one = {gpu.uuid for gpu in gpus(profile, node_name="gpu-01")}
    other = {gpu.uuid for gpu in gpus(profile, node_name="gpu-02")}

    assert len(one) == len(PROFILES[profile])
    assert one.isdisjoint(other)


@pytest.mark.parametrize("profile", PROFILES)
def test_a_restart_finds_the_same_gpus(profile: str) -> None:
    assert gpus(profile, node_name="gpu-01") == gpus(profile, node_name="gpu-01")


def test_an_h100_node_has_two_gpus_behind_each_of_four_roots_on_two_numa_nodes() -> None:
    found = gpus("h100x8", node_name="gpu-01")
    by_root: dict[str | None, list[int | None]] = {}
    for gpu in found:
        by_root.setdefault(gpu.pcie_root, []).append(gpu.numa_node)

    assert len(found) == 8
    assert sorted(len(numa_nodes) for numa_nodes in by_root.values()) == [2, 2, 2, 2]
    assert {gpu.numa_node for gpu in found} == {0, 1}
    assert all(len(set(numa_nodes)) == 1 for numa_nodes in by_root.values())


def test_whole_gpus_are_named_by_minor_in_pci_order() -> None:
    inventory = Inventory.of(gpus("l4x4-t4x1", node_name="l4-02"), source=Source.SIMULATED)

    assert [device.name for device in inventory.devices] == [f"gpu-{minor}" for minor in range(5)]
    assert inventory.devices[4].gpu.product_name == "Tesla T4"


def test_a_gpu_in_mig_mode_offers_its_partitions_instead_of_itself() -> None:
    inventory = Inventory.of(gpus("a100x2-mig", node_name="mig-01"), source=Source.SIMULATED)

    assert len(inventory.devices) == 50
    assert all(device.partition is not None for device in inventory.devices)
    assert all(device.gpu.mig_mode is MigMode.ENABLED for device in inventory.devices)
    assert inventory.find("gpu-0") is None
    assert inventory.find("gpu-1-mig-3g20gb-9-4") is not None
