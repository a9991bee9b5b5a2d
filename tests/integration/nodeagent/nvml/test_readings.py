"""Live state through the fake library."""

import pytest

from nodeagent.devices.settings import MigPolicy
from tests.fake_nvml.machine import FakeMachine
from tests.integration.nodeagent.nvml.conftest import Connect


def test_readings_are_in_the_wires_units(machine: FakeMachine, connect: Connect) -> None:
    uuid = machine.add("H100-80", minor=7, utilisation=97, used=2000, power=612345, temperature=60)
    machine.processes = [(uuid, 10, 500, -1), (uuid, 11, 500, -1)]
    machine.write()
    gpus = connect()
    gpus.discover()

    (reading,) = gpus.read()

    assert (reading.device, reading.uuid) == ("gpu-7", uuid)
    assert reading.utilisation_percent == 97
    # The call's first version would say 7000: it counts the driver's reserve.
    assert reading.memory_used_bytes == 2000
    assert reading.memory_total_bytes == 81559 << 20
    assert reading.power_milliwatts == 612345
    assert (reading.temperature_celsius, reading.sm_clock_megahertz) == (60, 1980)
    assert reading.process_count == 2


def test_an_old_driver_has_its_memory_read_by_the_older_call(
    machine: FakeMachine, connect: Connect
) -> None:
    machine.add("L4", used=2000)
    machine.codes["nvmlDeviceGetMemoryInfo_v2", ""] = 13
    machine.write()
    gpus = connect()
    gpus.discover()

    assert gpus.read()[0].memory_used_bytes == 7000


def test_a_failing_field_is_not_reported_and_never_zero(
    machine: FakeMachine, connect: Connect
) -> None:
    failing = {code: machine.add("L4") for code in (2, 3, 4, 6, 13, 25, 999)}
    for code, uuid in failing.items():
        machine.codes["nvmlDeviceGetPowerUsage", uuid] = code
    machine.write()
    gpus = connect()
    gpus.discover()

    readings = gpus.read()

    assert len(readings) == len(failing)
    assert {reading.power_milliwatts for reading in readings} == {None}
    assert {reading.utilisation_percent for reading in readings} == {0}


def test_what_a_gpu_does_not_offer_is_asked_once_and_what_failed_otherwise_again(
    machine: FakeMachine, connect: Connect
) -> None:
    machine.settings["log"] = 1
    unsupported, unlucky = machine.add("L4"), machine.add("L4")
    machine.codes["nvmlDeviceGetPowerUsage", unsupported] = 3
    machine.codes["nvmlDeviceGetPowerUsage", unlucky] = 999
    machine.write()
    gpus = connect()
    gpus.discover()
    gpus.read()
    machine.calls()

    gpus.read()

    assert machine.calls().count("nvmlDeviceGetPowerUsage") == 1


def test_a_partition_has_readings_of_its_own_and_none_of_its_gpus(
    machine: FakeMachine, connect: Connect
) -> None:
    uuid = machine.add("A100-40", mig=1, **{"mig-used": 777})
    gpus = connect(MigPolicy.DYNAMIC)
    gpus.discover()
    instance = gpus.create_partition(uuid, 9, 4)
    machine.processes = [(uuid, 10, 500, instance.gpu_instance_id), (uuid, 11, 500, 9)]
    machine.write()

    (reading,) = gpus.read()

    assert (reading.device, reading.uuid) == ("gpu-0-mig-3g20gb-9-4", instance.uuid)
    assert (reading.memory_used_bytes, reading.memory_total_bytes) == (777, 19968 << 20)
    assert (reading.utilisation_percent, reading.power_milliwatts) == (None, None)
    assert reading.process_count == 1


@pytest.mark.parametrize("mode", [0, 1])
def test_a_gpu_that_leaves_mig_mode_shows_its_utilisation_again(
    machine: FakeMachine, connect: Connect, mode: int
) -> None:
    uuid = machine.add("H100-80", mig=mode, utilisation=50)
    gpus = connect(MigPolicy.DYNAMIC)
    gpus.discover()
    gpus.read()

    gpus.set_mig_mode(uuid, enabled=not mode)
    gpus.discover()

    expected = 50 if mode else None
    assert gpus.read()[0].utilisation_percent == expected


def test_processes_are_listed_by_the_device_that_they_use(
    machine: FakeMachine, connect: Connect
) -> None:
    whole, divided, lost = machine.add("L4"), machine.add("A100-40", mig=1), machine.add("L4")
    gpus = connect(MigPolicy.DYNAMIC)
    gpus.discover()
    instance = gpus.create_partition(divided, 9, 4)
    machine.processes = [
        (whole, 10, 500, -1),
        (divided, 11, 600, instance.gpu_instance_id),
        (lost, 12, 700, -1),
    ]
    machine.change(lost, lost=1)

    assert [(one.device, one.pid, one.memory_bytes) for one in gpus.processes()] == [
        ("gpu-0", 10, 500),
        ("gpu-1-mig-3g20gb-9-4", 11, 600),
    ]
