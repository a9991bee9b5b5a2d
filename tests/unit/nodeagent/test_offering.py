"""GPUs that a device plugin offers, too, are not published (fault 52)."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from nodeagent import offering as room
from nodeagent.devices.model import Inventory, Source
from nodeagent.devices.profiles import gpus
from nodeagent.fields import JsonObject
from nodeagent.health.report import HealthReport
from nodeagent.kube.errors import UnreachableError
from nodeagent.kubelet.device_plugins import device_plugins_of
from nodeagent.offering import Offering

FOUND = "the Node has nvidia.com/gpu: 8"
INVENTORY = Inventory.of(gpus("l4x4", node_name="gpu-01"), source=Source.NVML)


def a_node(**allocatable: str) -> JsonObject:
    return {"status": {"allocatable": {**allocatable}}}


@pytest.fixture
def socket(tmp_path: Path) -> Path:
    """What NVIDIA's device plugin leaves in kubelet's directory."""
    path = tmp_path / "device-plugins/nvidia-gpu.sock"
    path.parent.mkdir()
    path.touch()
    (path.parent / "kubelet.sock").touch()
    return path


@pytest.mark.parametrize(
    "name", ["nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-1g.5gb"]
)
def test_a_resource_of_the_node_shows_a_device_plugin(tmp_path: Path, name: str) -> None:
    assert device_plugins_of(a_node(**{name: "8"}), tmp_path) == f"the Node has {name}: 8"


def test_a_plugin_that_is_gone_leaves_a_zero_and_maybe_its_socket(socket: Path) -> None:
    node = a_node(**{"nvidia.com/gpu": "0", "cpu": "8", "amd.com/gpu": "4"})

    assert device_plugins_of(node, socket.parents[1]) is None


def test_without_the_node_the_socket_shows_a_device_plugin(socket: Path) -> None:
    assert device_plugins_of(None, socket.parents[1]) == f"{socket} is there"


@dataclass
class Published:
    """An offering, what it published and recorded; `plugin` is what the next looks find."""

    plugin: str | None
    inventories: list[Inventory] = field(default_factory=list)
    records: list[str] = field(default_factory=list)
    offering: Offering = field(init=False)

    def __post_init__(self) -> None:
        self.offering = Offering(
            publish=lambda inventory, _: self.inventories.append(inventory),
            device_plugins=lambda: self.plugin,
            record=self.records.append,
        )
        self.offering.look()


def test_beside_a_device_plugin_nothing_is_published_until_it_is_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(room, "LOOK_SECONDS", 0.001)
    published = Published(FOUND)
    published.offering.take(INVENTORY, HealthReport())
    assert published.inventories == [Inventory((), Source.NVML)]
    assert published.records == [FOUND]

    published.plugin = None
    published.offering.run(HealthReport)

    assert published.inventories[-1] == INVENTORY


def test_before_the_api_server_has_answered_nothing_is_published_and_then_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(room, "RETRY_SECONDS", 0.001)
    answers = iter([UnreachableError("away"), UnreachableError("away"), None])

    def look() -> None:
        answer = next(answers)
        if answer is not None:
            raise answer

    inventories: list[Inventory] = []
    offering = Offering(
        publish=lambda inventory, _: inventories.append(inventory),
        device_plugins=look,
        record=pytest.fail,
    )
    offering.look()
    offering.take(INVENTORY, HealthReport())
    assert inventories == []

    offering.run(HealthReport)

    assert inventories == [INVENTORY]


def test_without_a_device_plugin_everything_is_published_at_once() -> None:
    published = Published(None)

    published.offering.take(INVENTORY, HealthReport())
    published.offering.run(HealthReport)

    assert published.inventories[0] == INVENTORY
    assert published.records == []


def test_it_ends_while_the_device_plugin_stays() -> None:
    published = Published(FOUND)

    published.offering.stop()
    published.offering.run(HealthReport)

    assert published.inventories == []
