"""`--once`: its members are a promise, so the whole of it is kept as a file.

To keep another one: `DRA_KEEP_GOLDEN=1 python -m pytest tests/unit/nodeagent/test_once.py`.
"""

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from nodeagent.commands.once import once
from nodeagent.config import parse
from nodeagent.fields import JsonObject

GOLDEN = Path(__file__).parent / "once"
AT = datetime(2026, 11, 30, 12, tzinfo=UTC)
VOLATILE = {"power_milliwatts", "temperature_celsius", "sm_clock_megahertz"}
"""Simulated figures that waver; that they are numbers is enough."""


def seen(profile: str) -> JsonObject:
    options = ["--node-name", "gpu-01", "--simulate", "--profile", profile]
    told: JsonObject = json.loads(json.dumps(once(parse(options), now=AT)))
    readings = told["readings"]
    assert isinstance(readings, list)
    for reading in readings:
        assert isinstance(reading, dict)
        for name in VOLATILE & reading.keys():
            assert reading[name] is None or isinstance(reading[name], int)
            reading[name] = 0
    return told


@pytest.mark.parametrize("profile", ["l4x4-t4x1", "a100x2-mig"])
def test_the_dump_of_simulated_gpus_is_the_one_that_was_kept(profile: str) -> None:
    file = GOLDEN / f"{profile}.json"
    told = seen(profile)
    if os.environ.get("DRA_KEEP_GOLDEN"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps(told, indent=1) + "\n")

    assert told == json.loads(file.read_text())


def test_without_a_driver_the_dump_says_where_it_was_looked_for(tmp_path: Path) -> None:
    told = once(parse(["--node-name", "gpu-01", "--driver-root-mounted", str(tmp_path)]))

    assert told["devices"] == []
    assert f"libnvidia-ml.so.1 not found in {tmp_path}/usr/lib64" in str(told["absence"])
