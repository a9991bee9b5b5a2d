"""An agent beside another vendor's driver must not stand in that driver's way."""

from pathlib import Path

from nodeagent.devices.settings import Settings
from nodeagent.devices.worker.proxy import WorkerGpus
from tests.fake_nvml.machine import FakeMachine


def test_whoever_only_reads_waits_for_no_events_and_makes_no_nodes(
    machine: FakeMachine, tmp_path: Path
) -> None:
    machine.add("A100-40")
    (machine.dev / "nvidia0").unlink()
    program = machine.root / "usr/bin/nvidia-modprobe"
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/made")
    program.chmod(0o755)
    machine.settings["log"] = 1
    machine.write()
    gpus = WorkerGpus(
        Settings(driver_root=machine.root, sysfs=machine.sysfs, dev=machine.dev, only_reads=True),
        environment={"FAKE_NVML": str(machine.directory / "nvml")},
    )
    try:
        (found,) = gpus.discover()
        (reading,) = gpus.read()
    finally:
        gpus.close()

    assert reading.uuid == found.uuid
    assert not (tmp_path / "made").exists()
    assert "nvmlEventSetCreate" not in machine.calls()
