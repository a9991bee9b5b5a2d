from pathlib import Path

import pytest

from nodeagent.cdi.char_links import CharLinks, nodes_of
from nodeagent.cdi.spec import DeviceNode
from nodeagent.devices.model import Device
from tests.builders.agents import a_gpu
from tests.builders.drivers import a_driver, null_numbers


@pytest.fixture
def node(tmp_path: Path) -> DeviceNode:
    (tmp_path / "nvidia0").symlink_to("/dev/null")
    return DeviceNode("/dev/nvidia0", "/dev/nvidia0", "c", *null_numbers())


def test_a_node_without_its_link_is_named(tmp_path: Path, node: DeviceNode) -> None:
    links = CharLinks(tmp_path)
    major, minor = null_numbers()

    assert links.missing([node]) == (node,)

    (tmp_path / "char").mkdir()
    (tmp_path / "char" / f"{major}:{minor}").symlink_to("/dev/zero")
    assert links.missing([node]) == (node,)

    (tmp_path / "char" / f"{major}:{minor}").unlink()
    (tmp_path / "char" / f"{major}:{minor}").symlink_to("../nvidia0")
    assert links.missing([node]) == ()


def test_links_are_made_once_and_to_what_is_there(tmp_path: Path, node: DeviceNode) -> None:
    links = CharLinks(tmp_path)
    capability = DeviceNode(
        "/dev/nvidia-caps/nvidia-cap30", "/dev/nvidia-caps/nvidia-cap30", "c", 507, 30
    )

    assert links.create([node, capability]) == (capability,)
    assert links.create([node, capability]) == (capability,)

    (link,) = (tmp_path / "char").iterdir()
    assert str(link.readlink()) == "../nvidia0"


def test_a_link_of_the_host_is_never_replaced(tmp_path: Path, node: DeviceNode) -> None:
    major, minor = null_numbers()
    (tmp_path / "char").mkdir()
    wrong = tmp_path / "char" / f"{major}:{minor}"
    wrong.symlink_to("../gone")

    assert CharLinks(tmp_path).create([node]) == (node,)
    assert str(wrong.readlink()) == "../gone"


def test_a_node_that_the_runtime_looks_up_itself_needs_no_link(tmp_path: Path) -> None:
    assert CharLinks(tmp_path).missing([DeviceNode("/dev/nvidia0", "/dev/null")]) == ()


def test_every_node_that_a_claim_may_get_is_looked_at(tmp_path: Path) -> None:
    driver = a_driver(tmp_path)
    devices = [Device(f"gpu-{minor}", a_gpu(minor)) for minor in (0, 1, 7)]

    paths = [node.path for node in nodes_of(driver.edits(), devices)]

    assert paths == [
        *("/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"),
        *("/dev/nvidia0", "/dev/nvidia1"),
    ]
