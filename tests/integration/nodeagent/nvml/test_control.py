"""Changes of GPUs through the worker, against boards that keep to the rules of MIG."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodeagent.devices.control import Instance
from nodeagent.devices.errors import (
    BusyError,
    DevicesError,
    DriverTimeoutError,
    NoDriverError,
    PlacementTakenError,
    UnsupportedError,
)
from nodeagent.devices.mig import counter_set, counters_drawn
from nodeagent.devices.settings import MigPolicy
from nodeagent.devices.worker.proxy import WorkerGpus
from tests.fake_nvml.machine import FakeMachine
from tests.integration.nodeagent.nvml.conftest import connected

ONE_G = 19
TWO_G = 14
THREE_G = 9
IN_USE = 19
INSUFFICIENT_RESOURCES = 23
UNKNOWN = 999


@pytest.fixture(scope="module")
def shared(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[FakeMachine, WorkerGpus]]:
    machine = FakeMachine(tmp_path_factory.mktemp("machine"))
    machine.add("A100-40", mig=1)
    machine.add("H100-80")
    with connected(machine, MigPolicy.DYNAMIC) as gpus:
        yield machine, gpus


@pytest.fixture
def machine(shared: tuple[FakeMachine, WorkerGpus]) -> Iterator[FakeMachine]:
    """A machine with an A100 in MIG mode and an H100 outside it, as new."""
    machine, _ = shared
    yield machine
    machine.codes.clear()
    machine.processes.clear()
    machine.has_partitions()
    machine.write()
    for file in (machine.root / "usr/bin").glob("*"):
        file.unlink()


@pytest.fixture
def gpus(machine: FakeMachine, shared: tuple[FakeMachine, WorkerGpus]) -> WorkerGpus:
    """The agent's side of the machine."""
    assert machine is shared[0]
    return shared[1]


@pytest.fixture
def ampere(gpus: WorkerGpus) -> str:
    return gpus.discover()[0].uuid


@pytest.fixture
def hopper(gpus: WorkerGpus) -> str:
    return gpus.discover()[1].uuid


def parts(machine: FakeMachine) -> list[str]:
    return [line for line in machine.mig() if not line.startswith("mode")]


def test_a_partition_is_a_gpu_instance_with_one_compute_instance_over_all_of_it(
    machine: FakeMachine, gpus: WorkerGpus, ampere: str
) -> None:
    instance = gpus.create_partition(ampere, TWO_G, 2)

    assert (instance.profile_id, instance.start) == (TWO_G, 2)
    # Profile 1 of compute instances has two slices.
    number = instance.gpu_instance_id
    assert parts(machine) == [f"ci {ampere} {number} 0 1", f"gi {ampere} {number} 14 2"]
    assert gpus.instances(ampere) == (instance,)
    assert [p.uuid for p in gpus.discover()[0].partitions if p.instance] == [instance.uuid]

    gpus.destroy_partition(ampere, instance)

    assert parts(machine) == []
    assert gpus.instances(ampere) == ()


def test_a_place_is_taken_once_and_only_by_what_the_board_offers_there(
    gpus: WorkerGpus, ampere: str, hopper: str
) -> None:
    gpus.create_partition(ampere, THREE_G, 0)

    with pytest.raises(PlacementTakenError, match=r"1g\.5gb at slice 3"):
        gpus.create_partition(ampere, ONE_G, 3)
    with pytest.raises(UnsupportedError):
        gpus.create_partition(ampere, THREE_G, 1)
    with pytest.raises(UnsupportedError):
        gpus.create_partition(ampere, 4711, 0)
    with pytest.raises(UnsupportedError, match="create"):
        gpus.create_partition(hopper, ONE_G, 0)
    with pytest.raises(NoDriverError):
        gpus.create_partition("GPU-elsewhere", ONE_G, 0)


@pytest.mark.parametrize(
    ("step", "code", "error"),
    [
        ("nvmlDeviceCreateGpuInstanceWithPlacement", UNKNOWN, DevicesError),
        ("nvmlGpuInstanceGetInfo", UNKNOWN, DevicesError),
        ("nvmlGpuInstanceGetComputeInstanceProfileInfoV", UNKNOWN, DevicesError),
        ("nvmlGpuInstanceCreateComputeInstance", INSUFFICIENT_RESOURCES, PlacementTakenError),
        ("nvmlGpuInstanceCreateComputeInstance", IN_USE, BusyError),
        ("nvmlComputeInstanceGetInfo_v2", UNKNOWN, DevicesError),
        ("nvmlDeviceGetUUID", UNKNOWN, DevicesError),
    ],
)
def test_a_step_that_fails_leaves_nothing_behind(
    gpus: WorkerGpus, machine: FakeMachine, step: str, code: int, error: type[DevicesError]
) -> None:
    ampere = gpus.discover()[0].uuid
    machine.codes[step, ampere] = code
    machine.write()

    with pytest.raises(error):
        gpus.create_partition(ampere, TWO_G, 0)

    assert parts(machine) == []
    machine.codes.clear()
    machine.write()
    assert gpus.create_partition(ampere, TWO_G, 0).start == 0


def test_half_a_partition_that_could_not_be_taken_back_is_shown_and_can_be_destroyed(
    machine: FakeMachine, gpus: WorkerGpus, ampere: str
) -> None:
    machine.codes["nvmlGpuInstanceCreateComputeInstance", ampere] = INSUFFICIENT_RESOURCES
    machine.codes["nvmlGpuInstanceDestroy", ampere] = IN_USE
    machine.write()
    with pytest.raises(PlacementTakenError):
        gpus.create_partition(ampere, TWO_G, 0)
    machine.codes.clear()
    machine.write()

    (half,) = gpus.instances(ampere)

    assert (half.uuid, half.compute_instance_id, half.start) == ("", -1, 0)
    gpus.destroy_partition(ampere, half)
    assert parts(machine) == []


def test_a_partition_in_use_stays_whole_until_it_is_free(
    machine: FakeMachine, gpus: WorkerGpus, ampere: str
) -> None:
    instance = gpus.create_partition(ampere, TWO_G, 0)
    machine.processes = [(ampere, 10, 1000, instance.gpu_instance_id)]
    machine.write()

    with pytest.raises(BusyError):
        gpus.destroy_partition(ampere, instance)

    assert gpus.instances(ampere) == (instance,)
    machine.processes = []
    machine.write()
    gpus.destroy_partition(ampere, instance)


def test_destroying_goes_on_where_an_earlier_attempt_ended(
    machine: FakeMachine, gpus: WorkerGpus, ampere: str
) -> None:
    instance = gpus.create_partition(ampere, TWO_G, 0)
    machine.codes["nvmlGpuInstanceDestroy", ampere] = IN_USE
    machine.write()
    with pytest.raises(BusyError):
        gpus.destroy_partition(ampere, instance)
    assert [line[:2] for line in parts(machine)] == ["gi"]
    machine.codes.clear()
    machine.write()

    gpus.destroy_partition(ampere, instance)
    gpus.destroy_partition(ampere, instance)

    assert parts(machine) == []


def test_another_partition_that_has_taken_the_id_is_left_alone(
    gpus: WorkerGpus, ampere: str
) -> None:
    old = gpus.create_partition(ampere, ONE_G, 0)
    gpus.destroy_partition(ampere, old)
    successor = gpus.create_partition(ampere, ONE_G, 5)
    assert successor.gpu_instance_id == old.gpu_instance_id

    gpus.destroy_partition(ampere, old)

    assert gpus.instances(ampere) == (successor,)


def test_partitions_outlive_the_worker(gpus: WorkerGpus, ampere: str) -> None:
    instance = gpus.create_partition(ampere, ONE_G, 6)

    gpus.close()

    assert gpus.instances(ampere) == (instance,)


def test_hopper_switches_mig_mode_at_once_and_back_when_it_is_empty(
    gpus: WorkerGpus, hopper: str
) -> None:
    gpus.set_mig_mode(hopper, True)
    gpus.set_mig_mode(hopper, True)
    instance = gpus.create_partition(hopper, ONE_G, 0)

    with pytest.raises(BusyError):
        gpus.set_mig_mode(hopper, False)
    gpus.destroy_partition(hopper, instance)
    gpus.set_mig_mode(hopper, False)

    assert gpus.instances(hopper) == ()


def test_a_switch_that_cannot_happen_now_is_not_left_pending(
    machine: FakeMachine, gpus: WorkerGpus, hopper: str, ampere: str
) -> None:
    machine.processes = [(hopper, 10, 1000, -1)]
    machine.write()

    with pytest.raises(BusyError):
        gpus.set_mig_mode(hopper, True)
    with pytest.raises(UnsupportedError, match="reset"):
        gpus.set_mig_mode(ampere, False)

    assert {vitals.is_mig_mode_pending for vitals in gpus.vitals()} == {False}


def test_the_agents_own_watch_for_events_does_not_keep_mig_mode_from_switching(
    machine: FakeMachine, gpus: WorkerGpus, hopper: str
) -> None:
    machine.change(hopper, watched=1)

    gpus.set_mig_mode(hopper, True)

    assert f"mode {hopper} 1 1" in machine.mig()
    machine.change(hopper, watched=0)
    machine.raise_event(hopper, 8, 48)
    assert gpus.vitals()[1].is_monitored


def test_compute_mode_is_exclusive_for_one_process_or_shared(
    machine: FakeMachine, gpus: WorkerGpus, hopper: str
) -> None:
    file = machine.directory / f"nvml/compute.{hopper}"

    gpus.set_compute_mode(hopper, True)
    exclusive = file.read_text()
    gpus.set_compute_mode(hopper, False)

    assert (exclusive, file.read_text()) == ("3", "0")


def a_program(machine: FakeMachine, name: str, body: str) -> Path:
    path = machine.root / "usr/bin" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f'#!/bin/sh\necho "$@" >> {machine.directory}/ran\n{body}\n')
    path.chmod(0o755)
    ran = machine.directory / "ran"
    ran.unlink(missing_ok=True)
    return ran


def test_a_time_slice_is_set_by_the_drivers_own_program(
    machine: FakeMachine, gpus: WorkerGpus, hopper: str
) -> None:
    with pytest.raises(NoDriverError, match="no nvidia-smi in"):
        gpus.set_time_slice(hopper, 3)
    ran = a_program(machine, "nvidia-smi", 'test -n "$LD_LIBRARY_PATH"')

    gpus.set_time_slice(hopper, 3)

    assert ran.read_text() == f"compute-policy -i {hopper} --set-timeslice 3\n"
    with pytest.raises(UnsupportedError):
        gpus.set_time_slice(hopper, 4)


@pytest.mark.parametrize(
    ("told", "error"),
    [
        ("Setting timeslice is not supported for this GPU", UnsupportedError),
        ("Insufficient Permissions", DevicesError),
    ],
)
def test_a_time_slice_that_is_refused_says_why(
    machine: FakeMachine, gpus: WorkerGpus, hopper: str, told: str, error: type[DevicesError]
) -> None:
    a_program(machine, "nvidia-smi", f"echo '{told}'; exit 3")

    with pytest.raises(error, match=told):
        gpus.set_time_slice(hopper, 1)


def test_a_program_that_hangs_costs_no_more_than_its_time(
    machine: FakeMachine, gpus: WorkerGpus, hopper: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nodeagent.devices.driver_programs.PATIENCE_SECONDS", 0.2)
    a_program(machine, "nvidia-smi", "exec sleep 60")

    with pytest.raises(DriverTimeoutError):
        gpus.set_time_slice(hopper, 1)


@pytest.fixture(scope="module")
def boards(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerGpus]:
    machine = FakeMachine(tmp_path_factory.mktemp("boards"))
    for board in ("A100-40", "H100-80", "H200"):
        machine.add(board, mig=1)
    with connected(machine, MigPolicy.DYNAMIC) as gpus:
        yield gpus


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_creating_succeeds_exactly_when_the_counters_fit(
    boards: WorkerGpus, data: st.DataObject
) -> None:
    gpu = data.draw(st.sampled_from(boards.discover()))
    left = counter_set(gpu.profiles)
    existing: list[tuple[Instance, dict[str, int]]] = []
    try:
        for partition in data.draw(st.lists(st.sampled_from(gpu.partitions), max_size=14)):
            victim = data.draw(st.integers(0, 2 * len(existing) + 1))
            if victim < len(existing):
                instance, drawn = existing.pop(victim)
                boards.destroy_partition(gpu.uuid, instance)
                left = {name: amount + drawn.get(name, 0) for name, amount in left.items()}
            drawn = counters_drawn(partition)
            fits = all(left[name] >= amount for name, amount in drawn.items())
            try:
                instance = boards.create_partition(gpu.uuid, partition.profile.id, partition.start)
            except PlacementTakenError:
                assert not fits
            else:
                assert fits
                existing.append((instance, drawn))
                left = {name: amount - drawn.get(name, 0) for name, amount in left.items()}
        assert set(boards.instances(gpu.uuid)) == {instance for instance, _ in existing}
    finally:
        for instance, _ in existing:
            boards.destroy_partition(gpu.uuid, instance)
