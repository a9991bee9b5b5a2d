"""What mirroring a fleet costs (B9): `python -m benchmarks.sync [--nodes N] [--json FILE]`.

Each database is a new one, each measurement a process of its own, and the API server one
more that answers from bytes prepared beforehand. Prints tables and writes JSON; asserts no
time.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from benchmarks.decoding import decoding_rates
from benchmarks.machine import machine
from benchmarks.mirror_objects import Fleet
from benchmarks.servers import api_server, postgresql, redis_server
from benchmarks.sync_table import WORKERS, figures
from benchmarks.table import renew
from dra_console.allocator.model import JsonObject

DATABASES: Final = ("sqlite", "postgresql")


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=5_000, help="each with one slice of 8 GPUs")
    parser.add_argument("--claims", type=int, default=20_000)
    parser.add_argument("--database", choices=DATABASES, help="measure one only; writes no file")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    parser.add_argument("--document", type=Path, help="Markdown file whose figures to renew")
    options = parser.parse_args()

    fleet = Fleet(nodes=options.nodes, gpus=8, claims=options.claims)
    facts = machine()
    facts["fleet"] = f"{fleet.nodes:,} slices, {fleet.devices:,} devices, {fleet.claims:,} claims"
    decoding = list(decoding_rates())
    steps: list[JsonObject] = []
    for database in [options.database] if options.database else DATABASES:
        for step in measured(database, fleet):
            print(json.dumps(step), file=sys.stderr)
            steps.append(step)
    written = figures(steps, decoding, facts)
    print(written)
    if options.document and not options.database:
        renew(options.document, written)
    if options.json and not options.database:
        result = {"machine": facts, "steps": steps, "decoding": decoding}
        options.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


def measured(database: str, fleet: Fleet) -> Iterator[JsonObject]:
    """Measure everything on one kind of database."""
    sizes = {"--nodes": fleet.nodes, "--gpus": fleet.gpus, "--claims": fleet.claims}
    options = [text for name, size in sizes.items() for text in (name, str(size))]
    programs = [("benchmarks.mirroring", options)]
    programs += [("benchmarks.following", ["--queues", queues]) for queues in WORKERS]
    for module, extra in programs:
        with surroundings(database, fleet) as (environment, arguments):
            command = [sys.executable, "-m", module, *arguments, *extra]
            done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
        found = json.loads(done.stdout.splitlines()[-1])
        for step in found if isinstance(found, list) else [found]:
            yield {**step, "database": database}


@contextmanager
def surroundings(database: str, fleet: Fleet) -> Iterator[tuple[Mapping[str, str], Sequence[str]]]:
    """Start what a measurement needs; yields environment and arguments."""
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-sync-")))
        api = stack.enter_context(api_server(fleet))
        kubeconfig = home / "kubeconfig"
        kubeconfig.write_text(json.dumps(kubeconfig_of(api)), encoding="utf-8")
        environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "dra_console.settings",
            "DRA_CONSOLE_SECRET_KEY": "bench-only-" + "x" * 40,
            "DRA_CONSOLE_REDIS_URL": stack.enter_context(redis_server(home)),
            "DRA_CONSOLE_DATABASE_URL": stack.enter_context(postgresql(home))
            if database == "postgresql"
            else f"sqlite:///{home}/console.sqlite3",
        }
        yield environment, ["--kubeconfig", str(kubeconfig), "--api", api]


def kubeconfig_of(api: str) -> JsonObject:
    """Write where the API server is; it asks for no credentials. JSON is YAML, too."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "bench",
        "clusters": [{"name": "bench", "cluster": {"server": api}}],
        "users": [{"name": "bench", "user": {}}],
        "contexts": [{"name": "bench", "context": {"cluster": "bench", "user": "bench"}}],
    }


if __name__ == "__main__":
    main()
