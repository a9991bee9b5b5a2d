"""A driver that hangs, dies or is replaced costs a worker process, and callers a stated time."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from prometheus_client import REGISTRY

from nodeagent.devices.errors import DevicesError, DriverTimeoutError, NoDriverError
from nodeagent.devices.settings import MigPolicy
from nodeagent.devices.worker import proxy
from nodeagent.devices.worker.proxy import DEADLINES, WorkerGpus
from tests.fake_nvml.machine import FakeMachine
from tests.integration.nodeagent.nvml.conftest import Connect

PATIENCE_SECONDS = 30
SOON = dict.fromkeys(DEADLINES, 0.5) | {"discover": 20.0}
A_MINUTE = 60_000
VERSION_MISMATCH = 18


def eventually(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def counted(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0.0


def worker_of(gpus: WorkerGpus) -> int:
    worker = gpus._worker
    assert worker is not None
    assert worker.pid is not None
    return worker.pid


def is_running(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:  # noqa: PTH123 - a process that goes is no error
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_call_that_hangs_in_the_driver_ends_in_time_and_vitals_grow_old(
    machine: FakeMachine, connect: Connect
) -> None:
    uuid = machine.add("A100-40", mig=1)
    gpus = connect(MigPolicy.DYNAMIC, deadlines=SOON)
    gpus.discover()
    fresh = gpus.vitals()
    machine.delays["nvmlDeviceGetMigMode"] = A_MINUTE
    machine.write()
    began = time.monotonic()

    gpus.vitals()
    with pytest.raises(DriverTimeoutError):
        gpus.create_partition(uuid, 19, 0)

    assert time.monotonic() - began < 5
    aged = gpus.vitals()
    assert [one.gpu_uuid for one in aged] == [uuid]
    assert aged[0].age_seconds > fresh[0].age_seconds + 0.5
    assert gpus.events() == ()


def test_a_call_whose_caller_has_given_up_does_not_begin_later(
    machine: FakeMachine, connect: Connect
) -> None:
    uuid = machine.add("A100-40", mig=1)
    gpus = connect(MigPolicy.DYNAMIC, deadlines=SOON | {"instances": 20.0})
    gpus.discover()
    machine.delays["nvmlDeviceGetMaxMigDeviceCount"] = 1500
    machine.write()
    hanging = threading.Thread(target=gpus.discover)
    hanging.start()
    time.sleep(0.1)

    with pytest.raises(DriverTimeoutError):
        gpus.create_partition(uuid, 19, 0)

    hanging.join()
    assert gpus.instances(uuid) == ()


def test_a_worker_that_stays_silent_is_ended_and_another_one_answers(
    machine: FakeMachine, connect: Connect
) -> None:
    machine.add("L4")
    before = counted("dra_nodeagent_driver_workers_silent_total")
    gpus = connect(deadlines=SOON, silence_seconds=1.0)
    gpus.discover()
    silent = worker_of(gpus)
    machine.delays["nvmlDeviceGetPowerUsage"] = A_MINUTE
    machine.write()
    with pytest.raises(DriverTimeoutError):
        gpus.read()
    machine.delays.clear()
    machine.write()

    def answers() -> bool:
        try:
            return len(gpus.read()) == 1
        except DevicesError:
            return False

    eventually(answers)

    assert worker_of(gpus) != silent
    assert counted("dra_nodeagent_driver_workers_silent_total") == before + 1
    timeouts = counted("dra_nodeagent_driver_errors_total", call="read", error="DriverTimeoutError")
    assert timeouts >= 1
    eventually(lambda: not is_running(silent))


def test_a_worker_that_is_slow_to_begin_is_waited_for(
    machine: FakeMachine, connect: Connect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.add("L4")
    (tmp_path / "sitecustomize.py").write_text("import time; time.sleep(2)")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    before = counted("dra_nodeagent_driver_workers_started_total")
    gpus = connect(deadlines=dict.fromkeys(DEADLINES, 0.5), silence_seconds=1.0)

    def has_discovered() -> bool:
        try:
            return len(gpus.discover()) == 1
        except DriverTimeoutError:
            return False

    assert not has_discovered()
    eventually(has_discovered)

    assert counted("dra_nodeagent_driver_workers_started_total") == before + 1


def test_a_driver_that_is_slow_but_moves_is_not_taken_for_dead(
    machine: FakeMachine, connect: Connect
) -> None:
    for _ in range(6):
        machine.add("L4")
    machine.delays["nvmlDeviceGetName"] = 300
    machine.write()
    gpus = connect(deadlines=SOON | {"discover": 0.5}, silence_seconds=1.4)
    with pytest.raises(DriverTimeoutError):
        gpus.discover()
    slow = worker_of(gpus)

    def has_discovered() -> bool:
        try:
            return len(gpus.discover()) == 6
        except DriverTimeoutError:
            return False

    eventually(has_discovered)

    assert worker_of(gpus) == slow


def test_a_worker_that_is_killed_is_replaced(machine: FakeMachine, connect: Connect) -> None:
    machine.add("L4")
    gpus = connect()
    known = gpus.discover()
    killed = worker_of(gpus)

    os.kill(killed, signal.SIGKILL)
    eventually(lambda: not is_running(killed))
    eventually(lambda: gpus._worker is not None and not gpus._worker.is_alive)

    assert len(gpus.read()) == 1
    assert gpus.discover() == known
    assert worker_of(gpus) != killed


def test_a_call_whose_worker_dies_meanwhile_is_refused_at_once(
    machine: FakeMachine, connect: Connect
) -> None:
    machine.add("L4")
    gpus = connect()
    gpus.discover()
    machine.delays["nvmlDeviceGetPowerUsage"] = A_MINUTE
    machine.write()
    threading.Timer(0.3, os.kill, (worker_of(gpus), signal.SIGKILL)).start()
    began = time.monotonic()

    with pytest.raises(NoDriverError, match="ended"):
        gpus.read()

    assert time.monotonic() - began < DEADLINES["read"]


def test_a_replaced_driver_restarts_the_worker_and_not_the_agent(
    machine: FakeMachine, connect: Connect
) -> None:
    machine.add("L4")
    gpus = connect()
    gpus.discover()
    old = worker_of(gpus)
    machine.codes["nvmlDeviceGetCount_v2", ""] = VERSION_MISMATCH
    machine.write()

    # The new driver is not whole yet: its library does not fit the kernel module either.
    with pytest.raises(NoDriverError, match="mismatch"):
        gpus.discover()

    assert not is_running(old)
    machine.codes.clear()
    machine.settings["driver"] = "590.44.01"
    machine.write()
    assert gpus.discover()[0].driver_version == "590.44.01"


def test_a_driver_whose_files_are_taken_away_is_let_go_so_that_it_can_be_unloaded(
    machine: FakeMachine, connect: Connect
) -> None:
    machine.add("L4")
    gpus = connect()
    known = gpus.discover()
    pid = worker_of(gpus)

    machine.uninstall()
    with pytest.raises(NoDriverError, match="being replaced"):
        gpus.read()

    assert not is_running(pid)
    with pytest.raises(NoDriverError, match="not found"):
        gpus.discover()
    machine.install()
    assert gpus.discover() == known


@pytest.mark.parametrize(("code", "hint"), [(9, "Driver Not Loaded"), (999, "privileged")])
def test_a_driver_that_refuses_to_begin_is_no_driver_until_it_does(
    machine: FakeMachine, connect: Connect, code: int, hint: str
) -> None:
    machine.add("L4")
    machine.settings["init"] = code
    machine.write()
    gpus = connect()

    with pytest.raises(NoDriverError, match=hint):
        gpus.discover()

    del machine.settings["init"]
    machine.write()
    assert len(gpus.discover()) == 1


def test_closing_ends_the_worker_so_that_the_driver_can_be_unloaded(
    machine: FakeMachine, connect: Connect
) -> None:
    machine.add("L4")
    gpus = connect()
    gpus.discover()
    pid = worker_of(gpus)

    gpus.close()

    assert not is_running(pid)


def test_closing_does_not_wait_for_a_driver_that_hangs(
    machine: FakeMachine, connect: Connect
) -> None:
    machine.add("L4")
    gpus = connect(deadlines=SOON)
    gpus.discover()
    pid = worker_of(gpus)
    machine.delays["nvmlDeviceGetPowerUsage"] = A_MINUTE
    machine.write()
    with pytest.raises(DriverTimeoutError):
        gpus.read()
    began = time.monotonic()

    gpus.close()

    assert time.monotonic() - began < 10
    eventually(lambda: not is_running(pid))


def test_a_worker_ends_with_its_agent_even_while_the_driver_hangs(machine: FakeMachine) -> None:
    machine.add("L4")
    machine.delays["nvmlDeviceGetName"] = A_MINUTE
    machine.write()
    program = (
        "import sys; from pathlib import Path; from threading import Timer;"
        "from nodeagent.devices.settings import Settings;"
        f"from {proxy.__name__} import WorkerGpus;"
        "g = WorkerGpus(Settings(driver_root=Path(sys.argv[1])));"
        "Timer(1, lambda: print(g.worker_pid, flush=True)).start(); g.discover()"
    )
    agent = subprocess.Popen(
        [sys.executable, "-c", program, machine.root],
        env=machine.environment,
        stdout=subprocess.PIPE,
    )
    assert agent.stdout is not None
    pid = int(agent.stdout.readline())
    assert is_running(pid)

    agent.kill()
    agent.wait()
    agent.stdout.close()

    eventually(lambda: not is_running(pid))


def test_an_idle_worker_is_small_and_takes_little_time(
    machine: FakeMachine, connect: Connect
) -> None:
    for _ in range(8):
        machine.add("H100-80")
    gpus = connect()
    gpus.discover()
    pid = worker_of(gpus)

    def seconds() -> float:
        with open(f"/proc/{pid}/stat") as file:  # noqa: PTH123 - like the one below
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    before = seconds()
    for _ in range(100):
        gpus.read()

    # A hundred seconds' worth of readings; the fake opens its files for each of them.
    assert seconds() - before < 1.0
    with open(f"/proc/{pid}/status") as file:  # noqa: PTH123 - like the one above
        resident = next(line for line in file if line.startswith("VmRSS"))
    assert int(resident.split()[1]) < 32 << 10
