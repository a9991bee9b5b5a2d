"""Look at the GPUs of this machine through the agent's own eyes, and print what was seen as JSON.

    python -m tests.hardware.look > seen.json

Read-only: no mode, partition, clock or process is touched. It takes about a quarter of a minute:
discovery, ten seconds of live readings, health, what the worker process costs, the same facts as
`nvidia-smi` tells them, and the agent's own `--check` of the node. Ends with 1 if the agent and
`nvidia-smi` disagree. Serial numbers are left out, so the output can be kept.
"""

import argparse
import csv
import dataclasses
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Final

import structlog

from nodeagent.devices.driver_programs import DIRECTORIES
from nodeagent.devices.model import Gpu, MigMode
from nodeagent.devices.settings import MigPolicy, Settings
from nodeagent.devices.worker.proxy import WorkerGpus

CHECK_SECONDS: Final = 60
MIB: Final = 1 << 20
COLUMNS: Final = (
    "uuid",
    "name",
    "pci.bus_id",
    "memory.total",
    "driver_version",
    "mig.mode.current",
)


def main() -> int:
    """Look, print, and tell whether both views agree."""
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    given = _parser().parse_args()
    root: Path = given.driver_root
    gpus = WorkerGpus(Settings.under(root, mig=MigPolicy.STATIC))
    began = time.monotonic()
    found = gpus.discover()
    discovered_after = time.monotonic() - began
    rescan, _ = _timed(gpus.discover)
    samples = []
    for _ in range(given.readings):
        seconds, readings = _timed(gpus.read)
        samples.append({"seconds": seconds, "readings": [_plain(one) for one in readings]})
        time.sleep(max(0.0, 1.0 - seconds))
    vitals = gpus.vitals()
    beside = _by_nvidia_smi(root)
    differences = _differences(found, beside)
    seen = {
        "gpus": [_plain(dataclasses.replace(gpu, serial=None)) for gpu in found],
        "seconds": {"discovery": discovered_after, "rescan": rescan},
        "samples": samples,
        "vitals": [_plain(one) for one in vitals],
        "events": [_plain(event) for event in gpus.events()],
        "worker": _cost(gpus.worker_pid),
        "nvidia-smi": beside,
        "differences": differences,
        "profiles": _profiles(root),
        "check": _check(root),
    }
    gpus.close()
    json.dump(seen, sys.stdout, indent=1, default=str)
    return bool(differences)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Look at this machine's GPUs; changes nothing.")
    parser.add_argument("--driver-root", type=Path, default=Path("/"))
    parser.add_argument("--readings", type=int, default=10, help="one a second")
    return parser


def _timed(call: Any) -> tuple[float, Any]:
    began = time.monotonic()
    answer = call()
    return time.monotonic() - began, answer


def _plain(told: Any) -> dict[str, Any]:
    return dataclasses.asdict(told)


def _profiles(root: Path) -> dict[str, list[str]]:
    """Ask what dynamic MIG would offer; that changes nothing by itself."""
    gpus = WorkerGpus(Settings.under(root, mig=MigPolicy.DYNAMIC))
    offered = {
        gpu.uuid: [f"{one.profile.name} at {one.start}" for one in gpu.partitions]
        for gpu in gpus.discover()
    }
    gpus.close()
    return offered


def _cost(pid: int | None) -> dict[str, float]:
    status = Path(f"/proc/{pid}/status").read_text()
    times = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    ticks = os.sysconf("SC_CLK_TCK")
    resident = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return {
        "resident_kibibytes": int(resident.split()[1]),
        "processor_seconds": (int(times[11]) + int(times[12])) / ticks,
    }


def _by_nvidia_smi(root: Path) -> list[dict[str, str]]:
    places = (root / directory / "nvidia-smi" for directory in DIRECTORIES)
    program = next((path for path in places if path.exists()), Path("nvidia-smi"))
    asked = [f"--query-gpu={','.join(COLUMNS)}", "--format=csv,noheader,nounits"]
    told = subprocess.run([program, *asked], check=True, capture_output=True, text=True).stdout
    rows = csv.reader(told.splitlines(), skipinitialspace=True)
    return [dict(zip(COLUMNS, row, strict=True)) for row in rows]


def _differences(found: tuple[Gpu, ...], beside: list[dict[str, str]]) -> list[str]:
    ours = {gpu.uuid: gpu for gpu in found}
    differences = [
        f"only one knows {uuid}" for uuid in ours.keys() ^ {row["uuid"] for row in beside}
    ]
    for row in beside:
        gpu = ours.get(row["uuid"])
        if gpu is None:
            continue
        modes = {"Enabled": MigMode.ENABLED, "Disabled": MigMode.DISABLED}
        pairs = {
            "name": (gpu.product_name, row["name"]),
            "pci.bus_id": (gpu.pci_bus_id, row["pci.bus_id"].lower()[4:]),
            "memory.total": (gpu.memory_bytes // MIB, int(row["memory.total"])),
            "driver_version": (gpu.driver_version, row["driver_version"]),
            "mig": (gpu.mig_mode, modes.get(row["mig.mode.current"], MigMode.UNSUPPORTED)),
        }
        differences += [
            f"{gpu.uuid} {what}: {own!r}, nvidia-smi says {other!r}"
            for what, (own, other) in pairs.items()
            if own != other
        ]
    return differences


def _check(root: Path) -> dict[str, Any]:
    """Run the agent's own diagnosis of the node; no cluster is needed to look at hardware."""
    command = [sys.executable, "-m", "nodeagent", "--node-name", "here", "--check"]
    ended = subprocess.run(
        [*command, "--driver-root-mounted", str(root)],
        check=False,
        capture_output=True,
        text=True,
        timeout=CHECK_SECONDS,
    )
    return {"status": ended.returncode, "said": ended.stdout + ended.stderr}


if __name__ == "__main__":
    sys.exit(main())
