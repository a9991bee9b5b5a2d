"""Live state through the fake library."""

import pytest

from nodeagent.devices.details import Details
from nodeagent.devices.events import RecoveryAction
from nodeagent.devices.gpu_process import GpuProcess
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

    part = "gpu-1-mig-3g20gb-9-4"
    assert gpus.processes() == {
        "gpu-0": (GpuProcess(device="gpu-0", pid=10, memory_bytes=500),),
        part: (GpuProcess(device=part, pid=11, memory_bytes=600),),
    }
    machine.codes["nvmlDeviceGetComputeRunningProcesses_v3", whole] = 999
    machine.write()
    assert gpus.processes()["gpu-0"] is None


def test_details_are_in_the_wires_units_and_what_a_board_does_not_tell_is_not_reported(
    machine: FakeMachine, connect: Connect
) -> None:
    machine.add(
        "H100-80",
        throttle=0x4 | 0x20 | 0x1000,
        uncorrected=1,
        rows="2,1,1,0",
        recovery=1,
        lanes=8,
        **{"corrected-ever": 9, "memory-temperature": 71},
    )
    machine.add("T4", fan=35, pstate=32, retired=1)
    gpus = connect()
    gpus.discover()

    hopper, turing = gpus.details()

    assert hopper == Details(
        device="gpu-0",
        memory_reserved_bytes=5000,
        memory_controller_percent=40,
        encoder_percent=0,
        decoder_percent=7,
        bar1_used_bytes=3000,
        bar1_total_bytes=128 << 30,
        power_limit_milliwatts=700_000,
        energy_millijoules=5_000_000_000,
        memory_temperature_celsius=71,
        slowdown_temperature_celsius=92,
        graphics_clock_megahertz=1980,
        memory_clock_megahertz=1980,
        video_clock_megahertz=1980,
        sm_clock_limit_megahertz=1980,
        clock_limits=("power-cap", "software-thermal", "other"),
        performance_state=0,
        fan_percent=None,
        ecc_corrected_errors=0,
        ecc_uncorrected_errors=1,
        ecc_corrected_errors_ever=9,
        ecc_uncorrected_errors_ever=0,
        remapped_rows_corrected=2,
        remapped_rows_uncorrected=1,
        is_row_remap_pending=True,
        has_row_remap_failed=False,
        has_retired_pages_pending=None,
        pcie_generation=5,
        pcie_lanes=8,
        pcie_replays=0,
        recovery_action=RecoveryAction.GPU_RESET,
    )
    assert (turing.fan_percent, turing.has_retired_pages_pending) == (35, True)
    assert (turing.remapped_rows_corrected, turing.is_row_remap_pending) == (None, None)
    assert (turing.performance_state, turing.recovery_action) == (None, None)
    assert turing.memory_temperature_celsius is None


def test_a_partition_tells_no_details_of_its_gpu(machine: FakeMachine, connect: Connect) -> None:
    uuid = machine.add("A100-40", mig=1)
    gpus = connect(MigPolicy.DYNAMIC)
    gpus.discover()
    gpus.create_partition(uuid, 9, 4)

    assert gpus.details() == (Details(device="gpu-0-mig-3g20gb-9-4", memory_reserved_bytes=5000),)
