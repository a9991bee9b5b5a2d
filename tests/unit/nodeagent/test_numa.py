from pathlib import Path

import pytest

from nodeagent.devices.numa import near_numa_nodes


@pytest.fixture
def sysfs(tmp_path: Path) -> Path:
    """Two sockets of four NUMA nodes each; node 3 is farther from node 0 than 1 and 2."""
    for node in range(8):
        directory = tmp_path / f"devices/system/node/node{node}"
        topology = directory / f"cpu{node * 4}/topology"
        topology.mkdir(parents=True)
        (topology / "physical_package_id").write_text(f"{node // 4}\n")
        (directory / "distance").write_text("10 12 12 13 32 32 32 32\n")
    return tmp_path


def test_nodes_of_the_same_socket_at_the_least_distance_are_near(sysfs: Path) -> None:
    assert near_numa_nodes(sysfs, 0) == (0, 1, 2)


def test_a_device_on_its_sockets_only_node_has_that_one(tmp_path: Path) -> None:
    topology = tmp_path / "devices/system/node/node0/cpu0/topology"
    topology.mkdir(parents=True)
    (topology / "physical_package_id").write_text("0")
    (tmp_path / "devices/system/node/node0/distance").write_text("10\n")

    assert near_numa_nodes(tmp_path, 0) == (0,)


@pytest.mark.parametrize("distances", ["10", "ten", ""])
def test_distances_that_cannot_be_read_leave_the_device_its_own_node(
    sysfs: Path, distances: str
) -> None:
    (sysfs / "devices/system/node/node0/distance").write_text(distances)

    assert near_numa_nodes(sysfs, 0) == (0,)


def test_without_the_kernels_tree_a_device_has_its_own_node(tmp_path: Path) -> None:
    assert near_numa_nodes(tmp_path, 3) == (3,)
