"""Cases that people met, as far as they concern the node (`tests/golden/cases`)."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from nodeagent.cdi.spec import qualified_name
from nodeagent.cdi.validate import problems
from nodeagent.claims.allocation import AllocatedClaim, ConfigSource, OpaqueConfig, decode_claim
from nodeagent.claims.entry import PlannedDevice
from nodeagent.claims.opaque import effective
from nodeagent.claims.prepare import Refusal
from nodeagent.fields import JsonObject
from nodeagent.kube.versions import slice_from_v1, slice_to_v1
from nodeagent.publish.devices import Offer
from nodeagent.publish.features import Shape
from nodeagent.publish.plan import Pool, plan_writes
from nodeagent.publish.slices import DesiredSlice, faults_of, slices_of
from tests.builders.agents import AgentNode, an_inventory, reference_to
from tests.builders.cases import CASES, case_object
from tests.builders.drivers import a_driver

ACME = "gpu.acme.example"
KIND = re.compile(r"^[A-Za-z][A-Za-z0-9.-]*[A-Za-z0-9]/[A-Za-z][A-Za-z0-9_.-]*$")


def claim_of(case: str, name: str) -> JsonObject:
    """Read a claim of a case; the API server would have given it a resource version."""
    claim = case_object(case, "ResourceClaim", name)
    metadata = claim["metadata"]
    assert isinstance(metadata, dict)
    return {**claim, "metadata": {"resourceVersion": "1", **metadata}}


def a_node(directory: Path, *devices: str, **options: Any) -> AgentNode:
    return AgentNode(
        directory, inventory=an_inventory(*devices), driver=ACME, pool="node-a", **options
    )


def prepare(node: AgentNode, claim: JsonObject) -> tuple[PlannedDevice, ...]:
    node.claims.put(claim)
    devices = node.prepare(claim)
    assert isinstance(devices, tuple), devices
    return devices


def refusal(node: AgentNode, claim: JsonObject) -> str:
    node.claims.put(claim)
    outcome = node.prepare(claim)
    assert isinstance(outcome, Refusal), outcome
    return outcome.reason


def test_048_v1beta1_slices_lose_basic_and_come_back_whole() -> None:
    old = case_object("048-v1beta1-and-v1-shapes", "ResourceSlice", "beta-slice")

    new: Any = slice_to_v1(old, version="v1beta1")

    assert [set(device) for device in new["spec"]["devices"]] == [
        {"name", "attributes", "capacity"}
    ] * 2
    assert new["apiVersion"] == "resource.k8s.io/v1"
    assert slice_from_v1(new, version="v1beta1") == old


POOL_051 = Pool(driver=ACME, node_name="node-a", node_uid="uid", name="node-a")


def slices_of_numbered(count: int) -> tuple[DesiredSlice, ...]:
    """The agent cuts at 64, so that a taint cuts nothing anew; the case takes any cut up to 128."""
    return slices_of(Offer(an_inventory(*(f"d{number:03}" for number in range(count)))), Shape())


def test_051_three_hundred_devices_are_slices_of_one_pool() -> None:
    desired = slices_of_numbered(300)

    created: list[Any] = list(plan_writes(desired, [], pool=POOL_051).create)

    assert faults_of(desired) == ()
    assert len(created) == 5
    assert {slice_object["spec"]["pool"]["resourceSliceCount"] for slice_object in created} == {5}
    assert len({slice_object["spec"]["pool"]["generation"] for slice_object in created}) == 1
    assert max(len(slice_object["spec"]["devices"]) for slice_object in created) <= 128
    names = [device["name"] for one in created for device in one["spec"]["devices"]]
    assert names == [f"d{number:03}" for number in range(300)]


def test_051_shrinking_to_a_hundred_leaves_as_many_slices_as_they_need() -> None:
    created: list[Any] = list(plan_writes(slices_of_numbered(300), [], pool=POOL_051).create)
    stored = [
        {**body, "metadata": {"name": f"{index:05x}-x", "resourceVersion": "1"}}
        for index, body in enumerate(created)
    ]

    writes = plan_writes(slices_of_numbered(100), stored, pool=POOL_051)

    kept: list[Any] = list(writes.replace)
    assert (len(writes.clear), len(kept), len(writes.create)) == (3, 2, 0)
    assert {one["spec"]["pool"]["resourceSliceCount"] for one in kept} == {2}
    assert sum(len(one["spec"]["devices"]) for one in kept) == 100


def test_022_a_device_twice_is_a_fault_before_anything_is_written() -> None:
    desired = slices_of(Offer(an_inventory("card-0", "card-1", "card-0")), Shape())

    (fault,) = faults_of(desired)

    assert "card-0" in fault


CASE_055 = "055-opaque-config-precedence"


def modes(claim: AllocatedClaim, configs: tuple[OpaqueConfig, ...]) -> dict[str, str]:
    own = [config for config in configs if config.driver == ACME]
    chosen = {
        result.device: effective(result, own, fits=lambda _config: True) for result in claim.results
    }
    return {
        device: config.parameters.text("mode") if config else "driver default"
        for device, config in chosen.items()
    }


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        (
            {ConfigSource.FROM_CLASS, ConfigSource.FROM_CLAIM},
            {"g0": "a-special", "g1": "claim-all", "g2": "sub-only"},
        ),
        ({ConfigSource.FROM_CLASS}, dict.fromkeys(("g0", "g1", "g2"), "class-2")),
        (set(), dict.fromkeys(("g0", "g1", "g2"), "driver default")),
    ],
    ids=["all-blocks", "without-the-claims", "without-any"],
)
def test_055_the_strongest_block_that_applies_wins(
    sources: set[ConfigSource], expected: dict[str, str]
) -> None:
    claim = decode_claim(claim_of(CASE_055, "c"))

    kept = tuple(config for config in claim.config if config.source in sources)

    assert modes(claim, kept) == expected


CASE_057 = "057-claim-with-two-drivers"


def test_057_each_agent_prepares_its_own_devices_only(tmp_path: Path) -> None:
    node = a_node(tmp_path, "g0", "g1")
    pair = claim_of(CASE_057, "pair")

    devices = prepare(node, pair)

    assert [(device.device, device.requests) for device in devices] == [("g0", ("gpu",))]
    assert "nic-0" not in node.cdi_file(pair).read_text()


def test_057_a_claim_with_nothing_of_ours_is_a_success_without_devices(tmp_path: Path) -> None:
    node = AgentNode(tmp_path, inventory=an_inventory("x"), driver="fpga.example", pool="node-a")
    pair = claim_of(CASE_057, "pair")

    assert prepare(node, pair) == ()
    assert node.entry(pair) is None
    assert not node.cdi_file(pair).exists()


def test_057_an_unknown_device_is_named_and_nothing_is_half_prepared(tmp_path: Path) -> None:
    node = a_node(tmp_path, "g0", "g1")
    ghost = claim_of(CASE_057, "ghost")

    assert "no-such-card" in refusal(node, ghost)
    assert not node.cdi_file(ghost).exists()
    assert node.entry(ghost) is None


CASE_060 = "060-second-claim-on-prepared-device"


def test_060_a_prepared_device_is_not_given_to_a_second_claim(tmp_path: Path) -> None:
    node = a_node(tmp_path, "g0", "m0")
    first, second, admin = (claim_of(CASE_060, name) for name in ("first", "second", "admin"))

    prepare(node, first)
    reason = refusal(node, second)
    assert "g0" in reason
    assert "77777777-0000-4000-8000-000000000601" in reason
    prepare(node, admin)
    node.restart()
    refusal(node, second)
    assert node.unprepare(first) is None
    prepare(node, second)

    shares = [prepare(node, claim_of(CASE_060, name))[0] for name in ("sh1", "sh2")]
    assert shares[0].cdi_name != shares[1].cdi_name
    assert [share.share_id for share in shares] == [
        "88888888-0000-4000-8000-000000000001",
        "88888888-0000-4000-8000-000000000002",
    ]


def test_062_a_claim_stays_prepared_until_its_last_user_goes(tmp_path: Path) -> None:
    """Which pod is the last one is kubelet's to know: it calls the driver once each way."""
    node = a_node(tmp_path, "g0")
    shared = claim_of("062-unprepare-only-by-last-user", "shared")

    prepare(node, shared)
    prepare(node, shared)
    assert node.cdi_file(shared).exists()

    assert node.unprepare(shared) is None
    assert not node.cdi_file(shared).exists()


def test_062_a_claim_that_is_not_reserved_is_not_prepared(tmp_path: Path) -> None:
    node = a_node(tmp_path, "g0")
    shared = claim_of("062-unprepare-only-by-last-user", "shared")
    status = shared["status"]
    assert isinstance(status, dict)

    assert "not reserved" in refusal(node, {**shared, "status": {**status, "reservedFor": []}})


def test_063_a_container_gets_the_devices_of_the_requests_that_it_names(tmp_path: Path) -> None:
    """Kubelet maps containers to devices by `request_names`; the agent says which are whose."""
    node = a_node(tmp_path, "g0", "g1")
    devices = prepare(node, claim_of("063-container-to-device-mapping", "g"))

    def ids(request: str | None) -> list[str]:
        return [
            qualified_name(ACME, device.cdi_name)
            for device in devices
            if request is None or request in device.requests
        ]

    uid = "77777777-0000-4000-8000-000000000063"
    assert ids(None) == [f"k8s.{ACME}/claim={uid}-g0", f"k8s.{ACME}/claim={uid}-g1"]
    assert ids("l") == [f"k8s.{ACME}/claim={uid}-g0"]
    assert ids("r9") == []


CASE_064 = "064-cdi-empty-edits"


def test_064_a_missing_device_node_is_an_error_until_it_is_there(tmp_path: Path) -> None:
    driver = a_driver(tmp_path / "driver")
    (driver.dev / "nvidia0").unlink()
    node = a_node(tmp_path, "g0", "g1", edits=driver.edits())
    claim = claim_of(CASE_064, "c")

    reason = refusal(node, claim)
    assert "g0" in reason
    assert str(driver.dev / "nvidia0") in reason
    assert not node.cdi_file(claim).exists()
    assert node.entry(claim) is None

    driver.node("nvidia0")
    prepare(node, claim)
    spec = yaml.safe_load(node.cdi_file(claim).read_text())
    uid = reference_to(claim).uid
    assert problems(spec) == ()
    assert KIND.match(spec["kind"])
    assert [device["name"] for device in spec["devices"]] == [f"{uid}-g0", f"{uid}-g1"]
    assert all(device["containerEdits"] for device in spec["devices"])

    assert node.unprepare(claim) is None
    assert not node.cdi_file(claim).exists()


def test_every_case_for_the_node_is_here() -> None:
    numbers = ("022", "048", "051", "055", "057", "060", "062", "063", "064")

    assert all(any(CASES.glob(f"{number}-*/input.yaml")) for number in numbers)
