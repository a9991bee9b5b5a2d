import pytest

from nodeagent.claims.allocation import AllocatedClaim, decode_claim
from nodeagent.claims.entry import PlannedDevice, State
from nodeagent.claims.prepare import Conflict, Refusal, conflict_of, is_same_allocation, plan
from nodeagent.devices.model import Inventory
from nodeagent.fields import FieldError, JsonObject
from tests.builders.agents import (
    a_claim_of_pod,
    a_mig_inventory,
    a_planned_device,
    an_entry,
    an_inventory,
)
from tests.builders.objects import DRIVER, NODE, a_result

UID = "claim-uid"


def a_claim(*results: JsonObject) -> AllocatedClaim:
    return decode_claim(a_claim_of_pod(*results))


def planned(
    claim: AllocatedClaim, inventory: Inventory | None = None, pool: str = NODE
) -> tuple[PlannedDevice, ...] | Refusal:
    return plan(claim, inventory=inventory or an_inventory(), driver=DRIVER, pool=pool)


def test_a_plan_holds_what_undoing_it_needs() -> None:
    claim = a_claim(a_result("gpu-1", request="gpu/large"))

    devices = planned(claim)

    assert isinstance(devices, tuple)
    (device,) = devices
    assert device.requests == ("gpu",)
    assert (device.pool, device.device) == (NODE, "gpu-1")
    assert device.cdi_name == f"{claim.uid}-gpu-1"
    assert (device.parent_uuid, device.uuid) == ("GPU-1", "GPU-1")
    assert device.pci_bus_id == "0000:01:00.0"


def test_a_partitions_plan_names_its_place_on_the_parent() -> None:
    inventory = a_mig_inventory()
    claim = a_claim(a_result("gpu-1-mig-3g20gb-9-4", pool="mig-01"))

    devices = planned(claim, inventory, pool="mig-01")

    assert isinstance(devices, tuple)
    (device,) = devices
    assert (device.mig_profile_id, device.mig_start, device.mig_size) == (9, 4, 4)
    assert device.parent_uuid == inventory.devices[-1].gpu.uuid
    assert device.makes_partition
    assert device.uuid is None


@pytest.mark.parametrize(
    ("result", "missing"),
    [
        (a_result("gpu-9"), "device gpu-9 of pool gpu-01"),
        (a_result("gpu-0", pool="gpu-02"), "device gpu-0 of pool gpu-02"),
    ],
)
def test_a_device_that_is_not_here_is_refused_by_name(result: JsonObject, missing: str) -> None:
    refusal = planned(a_claim(a_result("gpu-0", request="other"), result))

    assert isinstance(refusal, Refusal)
    assert missing in refusal.reason


def test_a_claim_that_is_not_allocated_cannot_be_planned() -> None:
    claim = a_claim_of_pod()
    claim["status"] = {}

    with pytest.raises(FieldError, match=r"^status\.allocation: the claim is not allocated$"):
        decode_claim(claim)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"source": "FromPool", "opaque": {}}, r"config\[0\]\.source: expected FromClass or From"),
        ({"source": "FromClaim"}, r"config\[0\]\.opaque: expected an object"),
        (
            {"source": "FromClaim", "opaque": {"driver": DRIVER, "parameters": 3}},
            r"config\[0\]\.opaque\.parameters: expected an object, got the number 3",
        ),
    ],
)
def test_configuration_of_an_unknown_form_is_an_error(config: JsonObject, message: str) -> None:
    claim = a_claim_of_pod()
    status = claim["status"]
    assert isinstance(status, dict)
    assert isinstance(status["allocation"], dict)
    assert isinstance(status["allocation"]["devices"], dict)
    status["allocation"]["devices"]["config"] = [config]

    with pytest.raises(FieldError, match=message):
        decode_claim(claim)


GPU = a_planned_device("gpu-0", parent_uuid="P", uuid="P")
LEFT = a_planned_device("gpu-0-mig-a", parent_uuid="P", mig_start=0, mig_size=4)
MIDDLE = a_planned_device("gpu-0-mig-b", parent_uuid="P", mig_start=2, mig_size=2)
RIGHT = a_planned_device("gpu-0-mig-c", parent_uuid="P", mig_start=4, mig_size=4)
ELSEWHERE = a_planned_device("gpu-1-mig-a", parent_uuid="Q", mig_start=0, mig_size=4)
SHARE_1 = a_planned_device("m0", share_id="s1")
SHARE_2 = a_planned_device("m0", share_id="s2")
ADMIN = a_planned_device("gpu-0", parent_uuid="P", admin_access=True)


@pytest.mark.parametrize(
    ("wanted", "held", "excludes"),
    [
        (GPU, GPU, True),
        (GPU, LEFT, True),
        (LEFT, GPU, True),
        (LEFT, MIDDLE, True),
        (LEFT, RIGHT, False),
        (LEFT, ELSEWHERE, False),
        (SHARE_1, SHARE_2, False),
        (SHARE_1, SHARE_1, True),
        (SHARE_1, a_planned_device("m0"), True),
        (ADMIN, GPU, False),
        (GPU, ADMIN, False),
    ],
)
def test_devices_exclude_each_other_where_hardware_overlaps(
    wanted: PlannedDevice, held: PlannedDevice, *, excludes: bool
) -> None:
    holder = an_entry("other", held)

    found = conflict_of([wanted], claim_uid=UID, entries=[holder])

    assert found == (Conflict(wanted.device, holder) if excludes else None)


@pytest.mark.parametrize(
    ("state", "counts"),
    [
        (State.STARTED, True),
        (State.COMPLETED, True),
        (State.UNPREPARING, True),
        (State.STALE_BOOT, False),
        (State.UNPREPARED, False),
    ],
)
def test_only_claims_of_this_boot_that_are_not_undone_hold_devices(
    state: State, *, counts: bool
) -> None:
    holder = an_entry("other", GPU, state=state)

    assert (conflict_of([GPU], claim_uid=UID, entries=[holder]) is not None) == counts


def test_a_claim_does_not_stand_in_its_own_way() -> None:
    assert conflict_of([GPU], claim_uid="other", entries=[an_entry("other", GPU)]) is None


def test_the_same_devices_are_the_same_allocation_whatever_their_order() -> None:
    assert is_same_allocation([GPU, SHARE_1], [SHARE_1, GPU])
    assert not is_same_allocation([SHARE_1], [SHARE_2])
    assert not is_same_allocation([GPU], [ADMIN])
