"""What the figures were measured on; without it they mean nothing to anybody else."""

import os
import platform
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from dra_console.allocator.model import JsonObject

CPU_FACTS: Final = Path("/proc/cpuinfo")


def machine() -> JsonObject:
    """Describe the machine, its load at this moment, and the versions that ran."""
    load = os.getloadavg()
    return {
        "measured_at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "load_1_5_15_minutes": [*load],
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "go": _go_version(),
    }


def _go_version() -> str | None:
    go = shutil.which("go")
    if go is None:
        return None
    done = subprocess.run([go, "env", "GOVERSION"], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _cpu_model() -> str:
    if CPU_FACTS.exists():
        for line in CPU_FACTS.read_text(encoding="utf-8").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()
