"""What is published where the server refuses some of it, in virtual time."""

from typing import Any

from nodeagent.devices.model import Inventory, Source
from tests.builders.agents import a_gpu, an_inventory
from tests.builders.publication import (
    Publication,
    has_counters,
    hopper_inventory,
    plain_gpus,
    published,
)
from tests.builders.slice_server import SliceServer


def test_optional_attributes_go_where_validation_refuses_them_and_come_back_later() -> None:
    def refusal(spec: dict[str, Any]) -> str | None:
        names = {name for device in spec.get("devices", []) for name in device["attributes"]}
        return "no migMode" if "migMode" in names else None

    node = Publication(SliceServer(refuses=refusal))
    node.offer(an_inventory())
    node.run_for(60)
    bare = {name for device in node.server.full_devices() for name in device["attributes"]}
    writes = node.server.writes
    node.run_for(1000)
    assert node.server.writes == writes, "a dry run asks whether the rest is welcome by now"

    node.server.refuses = lambda _spec: None
    node.run_for(400)

    assert bare == {"type", "uuid", "simulated"}
    assert "migMode" in node.server.full_devices()[0]["attributes"]


def test_where_counters_are_refused_whole_gpus_stay() -> None:
    node = published(hopper_inventory())
    assert has_counters(node.server)

    node.server.refuses = lambda spec: "no" if "sharedCounters" in spec else None
    node.server.wipe()
    node.run_for(5)

    assert node.server.devices() == ["gpu-0", "gpu-1"]
    assert node.server.is_whole()


def test_the_last_accepted_state_stays_where_nothing_new_is_accepted() -> None:
    node = published(an_inventory())

    def refusal(spec: dict[str, Any]) -> str | None:
        return "no third" if len(spec.get("devices", [])) > 2 else None

    node.server.refuses = refusal
    node.offer(plain_gpus(3))
    node.run_for(60)
    assert node.server.devices() == ["gpu-0", "gpu-1"]
    tried = node.server.tried

    node.run_for(240)
    assert node.server.tried == tried, "it waits five minutes"
    node.server.refuses = lambda _spec: None
    node.run_for(120)
    assert node.server.devices() == ["gpu-0", "gpu-1", "gpu-2"]


def test_a_pool_that_is_refused_half_way_is_whole_again_within_two_seconds() -> None:
    node = Publication()
    many = [a_gpu(n, pci_bus_id=f"0000:{n:02x}:00.0") for n in range(100)]
    node.offer(Inventory.of(many, source=Source.SIMULATED))
    node.run_for(10)

    def refusal(spec: dict[str, Any]) -> str | None:
        return "bad" if any(one["name"] == "gpu-100" for one in spec["devices"]) else None

    node.server.refuses = refusal
    more = [*many, a_gpu(100, pci_bus_id="0000:ff:00.0"), a_gpu(101, pci_bus_id="0000:00:01.0")]
    node.offer(Inventory.of(more, source=Source.SIMULATED))
    node.run_for(2.5)

    assert node.server.is_whole()
    assert "gpu-100" not in node.server.devices()
