"""What containers get with GPUs of a driver that is there, half there, and gone."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nodeagent.cdi.edits import Access
from nodeagent.cdi.errors import CdiError, MissingDriverError, MissingNodeError
from nodeagent.cdi.nvidia import CONTROL_NODES
from nodeagent.cdi.spec import DeviceNode, build
from nodeagent.cdi.validate import problems
from nodeagent.devices.control import Instance
from nodeagent.devices.model import Device, MigMode
from tests.builders.agents import a_gpu, a_mig_inventory
from tests.builders.drivers import CAPS_MAJOR, FakeDriver, a_driver, null_numbers

ADMINISTRATOR = Access(is_administrative=True)


@pytest.fixture
def driver(tmp_path: Path) -> FakeDriver:
    return a_driver(tmp_path)


def a_partition(*, instance: tuple[int, int] | None) -> Device:
    """Return a MIG device of GPU 0; without an instance it is only a place."""
    device = next(one for one in a_mig_inventory().devices if one.partition is not None)
    assert device.partition is not None
    partition = replace(device.partition, instance=None)
    if instance is not None:
        made = Instance(
            uuid="MIG-1",
            gpu_instance_id=instance[0],
            compute_instance_id=instance[1],
            profile_id=partition.profile.id,
            start=partition.start,
        )
        partition = replace(partition, instance=made)
    return replace(device, gpu=replace(device.gpu, minor=0), partition=partition)


def paths(nodes: tuple[DeviceNode, ...]) -> list[str]:
    return [node.path for node in nodes]


def test_a_gpu_brings_its_node_with_the_numbers_of_the_host(driver: FakeDriver) -> None:
    (node,) = driver.edits().of(Device("gpu-0", a_gpu(0))).device_nodes
    major, minor = null_numbers()

    assert node == DeviceNode(
        "/dev/nvidia0", str(driver.dev / "nvidia0"), "c", major, minor, file_mode=0o666
    )


def test_every_container_gets_the_control_nodes_and_no_legacy_injection(
    driver: FakeDriver,
) -> None:
    common = driver.edits().common()

    assert paths(common.device_nodes) == [f"/dev/{name}" for name in CONTROL_NODES]
    assert "NVIDIA_VISIBLE_DEVICES=void" in common.env


def test_mode_setting_comes_along_where_the_host_has_it(driver: FakeDriver) -> None:
    driver.node("nvidia-modeset")

    assert "/dev/nvidia-modeset" in paths(driver.edits().common().device_nodes)


@pytest.mark.parametrize("name", CONTROL_NODES)
def test_a_missing_control_node_is_an_error_until_it_is_there(
    driver: FakeDriver, name: str
) -> None:
    edits = driver.edits()
    (driver.dev / name).unlink()

    with pytest.raises(MissingNodeError, match=f"CUDA needs {driver.dev}/{name}, .*nvidia-modprob"):
        edits.common()

    driver.node(name)
    assert f"/dev/{name}" in paths(edits.common().device_nodes)


def test_a_missing_gpu_node_is_an_error_that_names_it(driver: FakeDriver) -> None:
    with pytest.raises(MissingNodeError, match=f"gpu-5 needs {driver.dev}/nvidia5"):
        driver.edits().of(Device("gpu-5", a_gpu(5)))


def test_a_file_in_place_of_a_node_is_no_node(driver: FakeDriver) -> None:
    (driver.dev / "nvidia5").write_text("")

    with pytest.raises(MissingNodeError, match="no character device"):
        driver.edits().of(Device("gpu-5", a_gpu(5)))


def test_nodes_with_other_numbers_make_another_file(driver: FakeDriver) -> None:
    """After a module is loaded again, what was written down before would be another device."""
    edits = driver.edits()
    before = edits.of(Device("gpu-0", a_gpu(0)))
    (driver.dev / "nvidia0").unlink()
    (driver.dev / "nvidia0").symlink_to("/dev/zero")

    after = edits.of(Device("gpu-0", a_gpu(0)))

    assert after.device_nodes[0].minor != before.device_nodes[0].minor


def test_nodes_of_the_host_are_used_where_the_driver_root_has_none(
    driver: FakeDriver, tmp_path: Path
) -> None:
    driver.dev.rename(tmp_path / "dev")

    (node,) = driver.edits().of(Device("gpu-0", a_gpu(0))).device_nodes

    assert (node.path, node.host_path) == ("/dev/nvidia0", "/dev/nvidia0")


def test_a_gpu_for_graphics_brings_its_drm_nodes_and_their_names_by_path(
    driver: FakeDriver,
) -> None:
    driver.graphics("0000:00:00.0", "card1", "renderD128", "card1-DP-1")

    edits = driver.edits().of(Device("gpu-0", a_gpu(0)))

    assert paths(edits.device_nodes) == ["/dev/nvidia0", "/dev/dri/card1", "/dev/dri/renderD128"]
    (hook,) = edits.hooks
    assert hook.args == (
        "nvidia-cdi-hook", "create-symlinks",
        "--link", "../card1::/dev/dri/by-path/pci-0000:00:00.0-card",
        "--link", "../renderD128::/dev/dri/by-path/pci-0000:00:00.0-render",
    )  # fmt: skip


def test_a_mig_device_is_exactly_three_nodes(driver: FakeDriver) -> None:
    driver.instance(0, 3, minors=(30, 31))

    edits = driver.edits().of(a_partition(instance=(3, 0)))

    assert paths(edits.device_nodes) == [
        "/dev/nvidia0",
        "/dev/nvidia-caps/nvidia-cap30",
        "/dev/nvidia-caps/nvidia-cap31",
    ]
    assert edits.device_nodes[1:] == tuple(
        DeviceNode(path, path, "c", CAPS_MAJOR, minor, file_mode=0o444)
        for path, minor in (
            ("/dev/nvidia-caps/nvidia-cap30", 30),
            ("/dev/nvidia-caps/nvidia-cap31", 31),
        )
    )


def test_a_planned_instance_counts_before_the_inventory_knows_it(driver: FakeDriver) -> None:
    driver.instance(0, 5, minors=(50, 51))
    planned = Access(gpu_instance_id=5, compute_instance_id=0)

    edits = driver.edits().of(a_partition(instance=None), planned)

    assert paths(edits.device_nodes)[1:] == [
        "/dev/nvidia-caps/nvidia-cap50",
        "/dev/nvidia-caps/nvidia-cap51",
    ]


def test_a_mig_device_without_its_capabilities_is_an_error_and_never_two_nodes(
    driver: FakeDriver,
) -> None:
    with pytest.raises(MissingNodeError, match=r"gpu0/mig/gi3.*No such file"):
        driver.edits().of(a_partition(instance=(3, 0)))

    driver.instance(0, 3, minors=(30, 31))
    ci = driver.proc / "driver/nvidia/capabilities/gpu0/mig/gi3/ci0"
    (ci / "access").write_text("DeviceFileMode: 292\n")
    with pytest.raises(MissingNodeError, match="DeviceFileMinor"):
        driver.edits().of(a_partition(instance=(3, 0)))

    (ci / "access").unlink()
    with pytest.raises(MissingNodeError, match=r"ci0/access"):
        driver.edits().of(a_partition(instance=(3, 0)))


def test_the_major_of_capabilities_is_that_of_the_whole_name_among_character_devices(
    driver: FakeDriver,
) -> None:
    driver.instance(0, 3, minors=(30, 31))
    devices = driver.proc / "devices"
    devices.write_text(devices.read_text().replace(f"{CAPS_MAJOR} nvidia-caps\n", ""))

    with pytest.raises(MissingNodeError, match=r"nvidia-caps in .*/proc/devices"):
        driver.edits().of(a_partition(instance=(3, 0)))


def test_a_place_without_an_instance_is_not_handed_out(driver: FakeDriver) -> None:
    with pytest.raises(CdiError, match="no MIG instance at this place"):
        driver.edits().of(a_partition(instance=None))


def test_administrators_get_the_nodes_for_watching_mig_and_create_nothing(
    driver: FakeDriver,
) -> None:
    monitors = ["/dev/nvidia-caps/nvidia-cap1", "/dev/nvidia-caps/nvidia-cap2"]
    whole = Device("gpu-0", a_gpu(0, mig_mode=MigMode.DISABLED))
    unable = Device("gpu-1", a_gpu(1, mig_mode=MigMode.UNSUPPORTED))
    edits = driver.edits()

    assert paths(edits.of(whole, ADMINISTRATOR).device_nodes) == ["/dev/nvidia0", *monitors]
    assert paths(edits.of(unable, ADMINISTRATOR).device_nodes) == ["/dev/nvidia1"]
    place = a_partition(instance=None)
    assert paths(edits.of(place, ADMINISTRATOR).device_nodes) == ["/dev/nvidia0", *monitors]


def test_a_node_that_not_everybody_may_open_brings_its_group(
    driver: FakeDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Restricted:
        """What `stat` says of a node with mode 0660 and the group of video."""

        st_mode = 0o020660
        st_rdev = 0
        st_gid = 44

    real = Path.stat

    def stat(path: Path, **options: Any) -> Any:
        return Restricted() if path.name == "nvidia0" else real(path, **options)

    monkeypatch.setattr(Path, "stat", stat)

    edits = driver.edits().of(Device("gpu-0", a_gpu(0)))

    assert edits.device_nodes[0].gid == 44
    assert edits.additional_gids == (44,)


def test_no_file_is_made_without_a_driver(driver: FakeDriver) -> None:
    (driver.proc / "driver/nvidia/version").unlink()

    with pytest.raises(MissingDriverError, match="not loaded"):
        driver.edits().common()


def test_files_of_real_gpus_are_valid_at_the_version_that_their_names_need(
    driver: FakeDriver,
) -> None:
    driver.instance(0, 3, minors=(30, 31))
    driver.graphics("0000:00:00.0", "card1")
    edits = driver.edits()
    devices = {
        "7a-gpu-0": edits.of(Device("gpu-0", a_gpu(0))),
        "7a-mig": edits.of(a_partition(instance=(3, 0)), ADMINISTRATOR),
    }

    spec = build("gpu.nvidia.com", devices=devices, common=edits.common())

    assert problems(spec) == ()
    assert spec["cdiVersion"] == "0.5.0"
