import json
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeagent.devices.errors import (
    BusyError,
    DriverTimeoutError,
    NoDriverError,
    PlacementTakenError,
    UnsupportedError,
)
from nodeagent.devices.events import EventKind, RecoveryAction
from nodeagent.devices.mig import counter_set, counters_drawn
from nodeagent.devices.model import Inventory, MigMode, Source
from nodeagent.devices.simulated import FAULTS_FILE, SimulatedGpus

ONE_G = 19
THREE_G = 9
SEVEN_G = 0


def simulated(profile: str = "a100x2-mig", **fields: object) -> SimulatedGpus:
    return SimulatedGpus(profile, "gpu-01", prepared_devices=tuple, **fields)  # type: ignore[arg-type] # the test gives the fields' own types


def first(gpus: SimulatedGpus) -> str:
    return gpus.discover()[0].uuid


def test_a_partition_that_was_created_is_found_with_its_instance() -> None:
    gpus = simulated()
    uuid = first(gpus)

    instance = gpus.create_partition(uuid, ONE_G, 2)

    found = Inventory.of(gpus.discover(), source=Source.SIMULATED).find("gpu-0-mig-1g5gb-19-2")
    assert found is not None
    assert found.partition is not None
    assert found.partition.instance == instance
    assert (found.uuid, gpus.instances(uuid)) == (instance.uuid, (instance,))
    gpus.destroy_partition(uuid, instance)
    assert gpus.instances(uuid) == ()


def test_a_place_is_taken_once_and_only_by_what_the_board_offers_there() -> None:
    gpus = simulated()
    uuid = first(gpus)
    gpus.create_partition(uuid, THREE_G, 0)

    with pytest.raises(PlacementTakenError):
        gpus.create_partition(uuid, ONE_G, 3)
    with pytest.raises(UnsupportedError):
        gpus.create_partition(uuid, THREE_G, 1)
    with pytest.raises(NoDriverError):
        gpus.create_partition("GPU-elsewhere", ONE_G, 0)


def test_destroying_what_is_gone_is_done_and_its_successor_is_left_alone() -> None:
    gpus = simulated()
    uuid = first(gpus)
    old = gpus.create_partition(uuid, ONE_G, 0)
    gpus.destroy_partition(uuid, old)
    successor = gpus.create_partition(uuid, ONE_G, 5)

    gpus.destroy_partition(uuid, old)

    assert old.gpu_instance_id == successor.gpu_instance_id
    assert gpus.instances(uuid) == (successor,)


def test_nothing_in_use_goes_away() -> None:
    gpus = simulated("h100x8", is_dynamic=True)
    uuid = first(gpus)
    gpus.set_mig_mode(uuid, True)
    instance = gpus.create_partition(uuid, ONE_G, 0)
    gpus.mig.in_use.add(instance.uuid)

    with pytest.raises(BusyError):
        gpus.destroy_partition(uuid, instance)
    with pytest.raises(BusyError):
        gpus.set_mig_mode(uuid, False)

    gpus.mig.in_use.clear()
    gpus.destroy_partition(uuid, instance)
    gpus.set_mig_mode(uuid, False)
    assert gpus.discover()[0].mig_mode is MigMode.DISABLED


def test_a_board_that_switches_without_a_reset_is_offered_whole_and_in_parts() -> None:
    gpus = simulated("h100x8", is_dynamic=True)
    inventory = Inventory.of(gpus.discover(), source=Source.SIMULATED)

    assert len(inventory.devices) == 8 * 26
    assert inventory.find("gpu-0") is not None
    with pytest.raises(UnsupportedError):
        gpus.create_partition(first(gpus), ONE_G, 0)


def test_an_ampere_board_does_not_switch_and_mig_has_no_time_slice() -> None:
    gpus = simulated()
    uuid = first(gpus)

    with pytest.raises(UnsupportedError):
        gpus.set_mig_mode(uuid, False)
    with pytest.raises(UnsupportedError):
        gpus.set_time_slice(uuid, 1)


def test_time_slice_and_compute_mode_stay_until_they_are_set_anew() -> None:
    gpus = simulated("h100x8")
    uuid = first(gpus)

    gpus.set_time_slice(uuid, 3)
    gpus.set_compute_mode(uuid, True)

    assert (gpus.mig.board(uuid).time_slice, gpus.mig.board(uuid).is_exclusive) == (3, True)


def test_boards_outlive_the_process_but_not_the_boot(tmp_path: Path) -> None:
    before = simulated(directory=tmp_path, boot_id="boot-1")
    uuid = first(before)
    instance = before.create_partition(uuid, ONE_G, 4)

    assert simulated(directory=tmp_path, boot_id="boot-1").instances(uuid) == (instance,)
    assert simulated(directory=tmp_path, boot_id="boot-2").instances(uuid) == ()


@given(st.data())
def test_creating_succeeds_exactly_when_the_counters_fit(data: st.DataObject) -> None:
    gpus = simulated()
    gpu = gpus.discover()[0]
    left = counter_set(gpu.profiles)
    for partition in data.draw(st.lists(st.sampled_from(gpu.partitions), max_size=9)):
        drawn = counters_drawn(partition)
        try:
            gpus.create_partition(gpu.uuid, partition.profile.id, partition.start)
        except PlacementTakenError:
            assert any(left[counter] < amount for counter, amount in drawn.items())
        else:
            left = {counter: amount - drawn.get(counter, 0) for counter, amount in left.items()}
            assert min(left.values()) >= 0


def test_an_xid_is_told_once() -> None:
    gpus = simulated("l4x4")
    gpus.faults.raise_xid("gpu-2", 79)

    told = gpus.events()

    assert [(event.kind, event.xid) for event in told] == [(EventKind.XID, 79)]
    assert told[0].gpu_uuid == gpus.discover()[2].uuid
    assert gpus.events() == ()


def test_a_lost_gpu_stays_known_has_no_readings_and_comes_back() -> None:
    gpus = simulated("l4x4")
    gpus.faults.lose("gpu-1")

    assert len(gpus.discover()) == 4
    assert [reading.device for reading in gpus.read()] == ["gpu-0", "gpu-2", "gpu-3"]
    assert [one.is_lost for one in gpus.vitals()] == [False, True, False, False]
    assert gpus.vitals()[1].recovery_action is None

    gpus.faults.find_again("gpu-1")
    assert len(gpus.read()) == 4
    assert gpus.vitals()[1].recovery_action is RecoveryAction.NONE


def test_a_driver_that_hangs_times_calls_out_and_lets_vitals_age() -> None:
    gpus = simulated("l4x4")
    gpus.faults.deadline_seconds = 0.01
    fresh = gpus.vitals()
    gpus.faults.hang()

    with pytest.raises(DriverTimeoutError):
        gpus.read()
    with pytest.raises(DriverTimeoutError):
        gpus.create_partition(fresh[0].gpu_uuid, ONE_G, 0)
    aged = gpus.vitals()
    assert all(old.age_seconds > new.age_seconds for old, new in zip(aged, fresh, strict=True))

    gpus.faults.deadline_seconds = 10
    threading.Timer(0.02, gpus.faults.release).start()
    assert len(gpus.read()) == 4


def test_faults_can_be_asked_for_from_outside_by_a_file(tmp_path: Path) -> None:
    gpus = simulated("l4x4", directory=tmp_path)
    gpus.faults.deadline_seconds = 0.01
    file = tmp_path / FAULTS_FILE

    def ask(**faults: object) -> None:
        changed = tmp_path / "next"
        changed.write_text(json.dumps(faults))
        changed.rename(file)

    ask(lost=["gpu-0"], xids=[{"gpu": "gpu-3", "xid": 48}], recovery={"gpu-3": 1})
    assert [one.is_lost for one in gpus.vitals()] == [True, False, False, False]
    assert [event.xid for event in gpus.events()] == [48, None]
    assert gpus.vitals()[3].recovery_action is RecoveryAction.GPU_RESET

    ask(xids=[{"gpu": "gpu-3", "xid": 48}, {"gpu": "gpu-2", "xid": 31}], hang=True)
    with pytest.raises(DriverTimeoutError):
        gpus.read()
    assert [event.xid for event in gpus.events()] == [31]

    ask()
    assert len(gpus.read()) == 4
