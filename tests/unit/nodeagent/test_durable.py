"""Files that several agents of one node write."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from nodeagent import durable
from nodeagent.durable import LEFT_OVER_SECONDS, write_durably

WRITES_MANY_TIMES = """
import sys
from pathlib import Path
from nodeagent.durable import write_durably
for _ in range(300):
    write_durably(Path(sys.argv[1]), sys.argv[2].encode() * 4096, mode=0o600)
"""


def test_two_agents_that_write_one_file_at_once_leave_one_of_the_two_contents(
    tmp_path: Path,
) -> None:
    file = tmp_path / "health.json"
    agents = [
        subprocess.Popen([sys.executable, "-c", WRITES_MANY_TIMES, file, letter])
        for letter in ("a", "bb")
    ]
    contents = {b"a" * 4096, b"bb" * 4096}
    seen = set()
    while any(agent.poll() is None for agent in agents):
        if file.exists():
            seen.add(file.read_bytes())

    assert [agent.returncode for agent in agents] == [0, 0]
    assert seen <= contents
    assert file.read_bytes() in contents
    assert [path.name for path in tmp_path.iterdir()] == [file.name]


def test_what_a_crash_left_is_removed_and_what_another_agent_writes_now_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left, of_another, foreign = (
        tmp_path / name
        for name in (".a.json.00001111.tmp", ".a.json.22223333.tmp", ".b.json.00001111.tmp")
    )
    for path in (left, of_another, foreign):
        path.write_text("half")
    long_ago = time.time() - LEFT_OVER_SECONDS - 1
    for path in (left, foreign):
        os.utime(path, (long_ago, long_ago))
    monkeypatch.setattr(durable, "PROCESS", "44445555")

    write_durably(tmp_path / "a.json", b"whole", mode=0o600)

    assert sorted(path.name for path in tmp_path.iterdir()) == [
        of_another.name,
        foreign.name,
        "a.json",
    ]
