"""How long a claim waits for its devices (B11): `python -m benchmarks.allocating [--json FILE]`.

Whole processes: an API server, Redis, a database, beat, a worker that mirrors and one that
allocates. Claims are created at the API server at a steady rate; a claim's time runs from the
answer to its creation until its allocation is seen by a watch of this process, which is told by
nobody but the API server, so both ends are of one clock. Prints tables and writes JSON; asserts
no time.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from benchmarks.allocating_table import figures
from benchmarks.machine import machine
from benchmarks.servers import devcluster, postgresql, real_api_server, redis_server
from benchmarks.table import renew
from dra_console.allocator.model import JsonObject

DATABASES: Final = ("sqlite", "postgresql")
API_SERVERS: Final = ("embedded", "real")


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=1_000, help="each with 8 GPUs")
    parser.add_argument("--rate", type=float, default=100.0, help="claims a second")
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--database", choices=DATABASES, help="measure one only; writes no file")
    parser.add_argument(
        "--api", choices=API_SERVERS, help="measure one only; `real` wants `make cluster-tools`"
    )
    parser.add_argument("--json", type=Path, help="where to write the figures")
    parser.add_argument("--document", type=Path, help="Markdown file whose figures to renew")
    options = parser.parse_args()
    is_whole = not (options.database or options.api)

    facts = machine()
    facts["fleet"] = f"{options.nodes:,} nodes of 8 GPUs"
    steps: list[JsonObject] = []
    for api in [options.api] if options.api else API_SERVERS:
        for database in [options.database] if options.database else DATABASES:
            for step in measured(api, database, options):
                print(json.dumps(step), file=sys.stderr)
                steps.append(step)
    written = figures(steps, facts)
    print(written)
    if options.document and is_whole:
        renew(options.document, written)
    if options.json and is_whole:
        result = {"machine": facts, "steps": steps}
        options.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


def measured(api: str, database: str, options: argparse.Namespace) -> Iterator[JsonObject]:
    """Measure claims and pods on one API server and one kind of database."""
    with surroundings(api, database) as (environment, kubeconfig, home):
        sizes = {
            "--kubeconfig": kubeconfig,
            "--home": home,
            "--nodes": options.nodes,
            "--rate": options.rate,
            "--seconds": options.seconds,
        }
        arguments = [text for name, value in sizes.items() for text in (name, str(value))]
        command = [sys.executable, "-m", "benchmarks.waiting", *arguments]
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    for step in json.loads(done.stdout.splitlines()[-1]):
        yield {**step, "api": api, "database": database}


@contextmanager
def surroundings(api: str, database: str) -> Iterator[tuple[Mapping[str, str], Path, Path]]:
    """Start what a measurement needs; yields environment, kubeconfig and the servers' home."""
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-allocating-")))
        kubeconfig = stack.enter_context(
            devcluster(home) if api == "embedded" else real_api_server()
        )
        environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "dra_console.settings",
            "DRA_CONSOLE_SECRET_KEY": "bench-only-" + "x" * 40,
            "DRA_CONSOLE_REDIS_URL": stack.enter_context(redis_server(home)),
            "DRA_CONSOLE_DATABASE_URL": stack.enter_context(postgresql(home))
            if database == "postgresql"
            else f"sqlite:///{home}/console.sqlite3",
        }
        yield environment, kubeconfig, home


if __name__ == "__main__":
    main()
