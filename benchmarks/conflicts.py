"""What a look for conflicts costs: `python -m benchmarks.conflicts [--nodes N] [--claims N]`.

Each database is a new one and each measurement a process of its own. Prints a table; asserts
no time. Nine of ten claims hold a device for a pod that runs; no two hold the same.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from benchmarks.machine import machine
from benchmarks.servers import postgresql, redis_server

DATABASES: Final = ("sqlite", "postgresql")
COLUMNS: Final = ("database", "look", "seconds", "cpu_seconds", "memory_mebibytes")


def main() -> None:
    """Measure on each database and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=5_000, help="each with one slice of 8 GPUs")
    parser.add_argument("--claims", type=int, default=20_000)
    parser.add_argument("--database", choices=DATABASES, help="measure one only")
    options = parser.parse_args()

    print(json.dumps(machine()))
    print(f"| {' | '.join(COLUMNS)} |\n|{' --- |' * len(COLUMNS)}")
    for database in [options.database] if options.database else DATABASES:
        for step in _measured(database, nodes=options.nodes, claims=options.claims):
            row = {"database": database, **step}
            print(f"| {' | '.join(str(row[column]) for column in COLUMNS)} |", flush=True)


def _measured(database: str, *, nodes: int, claims: int) -> list[dict[str, object]]:
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-conflicts-")))
        environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "dra_console.settings",
            "DRA_CONSOLE_SECRET_KEY": "bench-only-" + "x" * 40,
            "DRA_CONSOLE_REDIS_URL": stack.enter_context(redis_server(home)),
            "DRA_CONSOLE_DATABASE_URL": stack.enter_context(postgresql(home))
            if database == "postgresql"
            else f"sqlite:///{home}/console.sqlite3",
        }
        sizes = ["--nodes", str(nodes), "--claims", str(claims)]
        command = [sys.executable, "-m", "benchmarks.looking", *sizes]
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    steps: list[dict[str, object]] = json.loads(done.stdout.splitlines()[-1])
    return steps


if __name__ == "__main__":
    main()
