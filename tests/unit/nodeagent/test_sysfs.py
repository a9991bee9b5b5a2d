from pathlib import Path

import pytest

from nodeagent.devices.sysfs import pcie_root, physical_numa_node, short_bus_id

BUS_ID = "0000:1b:00.0"


@pytest.fixture
def sysfs(tmp_path: Path) -> Path:
    """A tree with one GPU two bridges below its PCI root, as the kernel shows it."""
    device = tmp_path / "devices/pci0000:15/0000:15:01.0/0000:16:00.0" / BUS_ID
    device.mkdir(parents=True)
    (device / "numa_node").write_text("1\n")
    links = tmp_path / "bus/pci/devices"
    links.mkdir(parents=True)
    (links / BUS_ID).symlink_to(device)
    return tmp_path


@pytest.mark.parametrize(
    ("spelled", "expected"),
    [
        ("00000000:1B:00.0", "0000:1b:00.0"),
        (b"00000000:1B:00.0", "0000:1b:00.0"),
        ("0000:1b:00.0", "0000:1b:00.0"),
        ("00010000:1B:00.0", None),
        ("nonsense", None),
    ],
)
def test_bus_ids_have_four_domain_digits_or_none(spelled: str | bytes, expected: str) -> None:
    assert short_bus_id(spelled) == expected


def test_the_root_is_the_first_part_of_the_real_path(sysfs: Path) -> None:
    assert pcie_root(sysfs, BUS_ID) == "pci0000:15"


def test_a_device_that_is_not_under_a_pci_root_has_none(sysfs: Path) -> None:
    platform = sysfs / "devices/platform/soc/0001:00:00.0"
    platform.mkdir(parents=True)
    (sysfs / "bus/pci/devices/0001:00:00.0").symlink_to(platform)

    assert pcie_root(sysfs, "0001:00:00.0") is None
    assert pcie_root(sysfs, "0000:ff:00.0") is None


def test_numa_node_minus_one_means_unknown(sysfs: Path) -> None:
    assert physical_numa_node(sysfs, BUS_ID) == 1

    (sysfs / "bus/pci/devices" / BUS_ID / "numa_node").write_text("-1\n")

    assert physical_numa_node(sysfs, BUS_ID) is None
    assert physical_numa_node(sysfs, "0000:ff:00.0") is None
