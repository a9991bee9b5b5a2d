"""SIGKILL at every single operation on the disk and on the hardware, then a start.

Real processes, real files, and boards that keep to MIG's rules and outlive the process
(node-agent.md 9, point 3). Invariants are those of 7.2.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.nodeagent.lives import CLAIMS

pytestmark = pytest.mark.long

STORY = [
    ["prepare", "pair"],
    ["prepare", "sliced"],
    ["unprepare", "pair"],
    ["prepare", "rival"],
    ["unprepare", "sliced"],
]
AFTERWARDS = [
    *(["unprepare", name] for name in ("pair", "sliced", "rival")),
    ["prepare", "rival"],
    ["prepare", "sliced"],
    *(["unprepare", name] for name in ("rival", "sliced")),
]


class Lives:
    """One process that forks a life for each line it is sent."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "tests.integration.nodeagent.lives"]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def live(self, directory: Path, **life: object) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        line = json.dumps({"directory": str(directory), **life})
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        told: dict[str, Any] = json.loads(self._process.stdout.readline())
        return told

    def end(self) -> None:
        self._process.communicate()


@pytest.fixture
def lives() -> Iterator[Lives]:
    lives = Lives()
    yield lives
    lives.end()


def what_kubelet_knows(told: list[list[Any]]) -> dict[str, bool]:
    """Return which claims kubelet holds for prepared and which not; without those in between."""
    known: dict[str, bool] = {}
    for word, *rest in told:
        if word == "asked":
            known.pop(rest[0], None)
        elif word in CLAIMS:
            known[word] = rest[0]
    return known


def states(told: list[list[Any]]) -> list[dict[str, Any]]:
    return [rest[0] for word, *rest in told if word == "state"]


def check(state: dict[str, Any], point: str) -> None:
    held = state["completed"]
    assert not {"pair", "rival"} <= set(held), f"{point}: overlapping partitions are held twice"
    assert state["half_done"] == [], point
    assert state["files"] == held, f"{point}: entries and files differ"
    assert state["partitions"] == state["planned_partitions"], f"{point}: partitions differ"
    assert state["time_slice"] == (3 if "sliced" in held else 0), f"{point}: the time slice differs"


def test_a_kill_before_any_operation_keeps_every_promise_and_leaves_nothing_behind(
    lives: Lives, tmp_path: Path
) -> None:
    """Fault: GI created, CI or checkpoint not; roll-back at each step finds it by its place."""
    whole = lives.live(tmp_path / "whole", boot_id="boot-1", version=1, steps=STORY)
    operations = whole["told"][-1][1]
    assert what_kubelet_knows(whole["told"]) == {"pair": False, "rival": True, "sliced": False}
    assert operations > 50

    for kill_at in range(1, operations + 1):
        directory = tmp_path / str(kill_at)
        died = lives.live(directory, boot_id="boot-1", version=1, steps=STORY, kill_at=kill_at)
        assert died["killed"]
        known = what_kubelet_knows(died["told"])
        shutil.copytree(directory, tmp_path / "rebooted")

        if kill_at % 2:
            # The start that takes back what was left half done may die of it, too.
            lives.live(directory, boot_id="boot-1", version=2, steps=[], kill_at=1 + kill_at % 9)

        again = lives.live(directory, boot_id="boot-1", version=2, steps=AFTERWARDS)

        found, left = states(again["told"])
        check(found, f"killed at {kill_at}")
        for name, is_prepared in known.items():
            assert (name in found["completed"]) == is_prepared, f"killed at {kill_at}: {name}"
        assert what_kubelet_knows(again["told"]) == dict.fromkeys(CLAIMS, False)
        check(left, f"killed at {kill_at}, afterwards")
        assert left["completed"] == []

        rebooted = lives.live(tmp_path / "rebooted", boot_id="boot-2", version=2, steps=AFTERWARDS)

        found, left = states(rebooted["told"])
        assert found["completed"] == found["files"] == found["partitions"] == []
        assert all(said[1] is False for said in rebooted["told"] if said[0] == "unprepare")
        check(left, f"killed at {kill_at}, after a reboot")
        assert left["completed"] == []
        shutil.rmtree(tmp_path / "rebooted")
        shutil.rmtree(directory)
