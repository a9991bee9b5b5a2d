"""Runs rounds in a process of their own, which alone has threads enough few to be forked."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[4]


def played(*, rounds: int, seed: int, database: str) -> Any:
    """Play, and return the report (`rounds.Report`).

    Raises:
        AssertionError: it broke down; the message has what it said.

    """
    words = ("--rounds", str(rounds), "--seed", str(seed), "--database", database)
    done = subprocess.run(
        [sys.executable, "-m", "tests.integration.scheduling.faults", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    start = done.stdout.find("{\n")
    assert start >= 0, f"no report:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    return json.loads(done.stdout[start:])
