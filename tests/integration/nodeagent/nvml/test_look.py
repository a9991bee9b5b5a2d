"""The script for machines with a real GPU works, and changes nothing, on a fake one."""

import json
import subprocess
import sys
from pathlib import Path

from tests.fake_nvml.machine import FakeMachine

REPOSITORY = Path(__file__).parents[4]
CHANGES = ("Set", "Create", "Destroy", "Clear", "Reset")


def test_the_script_for_real_gpus_sees_all_and_changes_nothing(machine: FakeMachine) -> None:
    machine.settings["log"] = 1
    uuid = machine.add("H200", serial=4711)
    program = machine.root / "usr/bin/nvidia-smi"
    program.parent.mkdir()
    row = f"{uuid}, NVIDIA H200, 00000000:10:00.0, 143771, 580.95.05, Disabled"
    program.write_text(f"#!/bin/sh\necho '{row}'\n")
    program.chmod(0o755)

    ended = subprocess.run(
        [
            *(sys.executable, "-m", "tests.hardware.look"),
            *("--driver-root", machine.root, "--readings", "2"),
        ],
        env=machine.environment,
        cwd=REPOSITORY,
        check=False,
        capture_output=True,
    )

    assert ended.returncode == 0, ended.stderr.decode()
    seen = json.loads(ended.stdout)
    assert seen["differences"] == []
    assert [gpu["uuid"] for gpu in seen["gpus"]] == [uuid]
    assert seen["gpus"][0]["serial"] is None
    assert len(seen["samples"]) == 2
    assert seen["vitals"][0]["is_monitored"]
    assert "1g.35gb at 6" in seen["profiles"][uuid]
    changing = {call for call in machine.calls() if any(word in call for word in CHANGES)}
    assert {call for call in changing if not call.startswith("nvmlEventSet")} == set()
