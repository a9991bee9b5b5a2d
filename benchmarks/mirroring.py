"""Mirror a fleet into one database and say what it cost: a program of its own for each.

`python -m benchmarks.mirroring --kubeconfig FILE --api URL --nodes N --gpus N --claims N`
reads the console's settings from the environment, wants an empty database, and prints one
JSON array. A process of its own, so that its memory and its processor time are those of
nothing else.
"""

import argparse
import json
import resource
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final
from urllib.request import Request, urlopen

import django

django.setup()

from django.core.management import call_command  # noqa: E402 - Django had to be set up first
from django.db import connection  # noqa: E402
from django.utils import timezone  # noqa: E402

from benchmarks.mirror_objects import Fleet  # noqa: E402
from dra_console.allocator.model import JsonObject  # noqa: E402
from dra_console.kube.kinds import RESOURCE_CLAIMS, RESOURCE_SLICES, Kind  # noqa: E402
from dra_console.leases import Lease, lease  # noqa: E402
from dra_console.mirror.clusters import client_of  # noqa: E402
from dra_console.mirror.models import Cluster  # noqa: E402
from dra_console.sync.collector import look_less_often  # noqa: E402
from dra_console.sync.cursors import make_cursors  # noqa: E402
from dra_console.sync.listing import list_all  # noqa: E402
from dra_console.sync.reconcile import apply  # noqa: E402
from dra_console.sync.window import Window  # noqa: E402

KINDS: Final = (RESOURCE_SLICES, RESOURCE_CLAIMS)
BATCHES: Final = (1, 10, 100, 200)
EVENTS: Final = 1_000
"""Applied for each size of batch."""

SINGLE_EVENTS: Final = 100

HOUR_SECONDS: Final = 3600
TICKS: Final = 100
"""Of /proc, in a second."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What one step took here and, where that is another process, in the database."""

    wall_seconds: float
    cpu_seconds: float
    database_cpu_seconds: float

    def to_json(self) -> JsonObject:
        return {
            "wall_seconds": self.wall_seconds,
            "cpu_seconds": self.cpu_seconds,
            "database_cpu_seconds": self.database_cpu_seconds,
        }


def cost_of(act: Callable[[], float | None]) -> Cost:
    """Time one step; it returns what PostgreSQL's processes took for connections of its own."""
    wall, cpu, database = time.perf_counter(), time.process_time(), database_cpu_seconds()
    others = act() or 0.0
    return Cost(
        time.perf_counter() - wall,
        time.process_time() - cpu,
        database_cpu_seconds() - database + others,
    )


def database_cpu_seconds() -> float:
    """Return the processor time of PostgreSQL's process for us; 0 with SQLite, which has none."""
    if connection.vendor != "postgresql":
        return 0.0
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (pid,) = cursor.fetchone()
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    user, system = 11, 12
    return (int(fields[user]) + int(fields[system])) / TICKS


def peak_mebibytes() -> float:
    """Return the most memory that this process has had resident so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def show(api: str, state: str) -> None:
    """Choose what the API server lists from now on."""
    urlopen(Request(f"{api}/bench/state/{state}", data=b"", method="POST")).close()  # noqa: S310 - our own server


def list_kinds(cluster: Cluster) -> float:
    """Mirror full lists of all kinds side by side, a thread each, as a worker does.

    Returns the processor time of the threads' PostgreSQL processes in seconds.
    """
    with ThreadPoolExecutor(len(KINDS)) as threads:
        listed = [threads.submit(list_kind, cluster.pk, kind) for kind in KINDS]
        return sum(each.result() for each in listed)


def list_kind(cluster_id: int, kind: Kind) -> float:
    """Mirror a full list of one kind over a connection of its own."""
    cluster = Cluster.objects.get(pk=cluster_id)
    try:
        with held_lease(kind.plural) as held:
            list_all(a_window(cluster, kind=kind, held=held), client=client_of(cluster))
        return database_cpu_seconds()
    finally:
        connection.close()


@contextmanager
def held_lease(name: str) -> Iterator[Lease]:
    """Hold a lease that nobody else wants."""
    with lease(f"bench:{name}", seconds=15) as held:
        if held is None:
            raise AssertionError("nobody else is there to hold it")
        yield held


def a_window(cluster: Cluster, *, kind: Kind, held: Lease) -> Window:
    """Open a window that nothing ends."""
    cluster.refresh_from_db()
    return Window(cluster, kind, held, seconds=HOUR_SECONDS, stopped=lambda: False)


def watch_batches(cluster: Cluster, fleet: Fleet) -> Iterator[JsonObject]:
    """Write changes of claims in batches of each size, as a watch does."""
    writes = 100
    for size in BATCHES:
        rounds = max(1, (SINGLE_EVENTS if size == 1 else EVENTS) // size)
        batches = [
            [
                with_type(fleet.a_claim((start + each) % fleet.claims, writes=writes + start))
                for each in range(size)
            ]
            for start in range(0, rounds * size, size)
        ]
        writes += 2 * EVENTS + 1
        cost = cost_of(partial(write_batches, cluster, batches))
        yield {"step": "events", "objects": rounds * size, "batch": size, **cost.to_json()}


def write_batches(cluster: Cluster, batches: Iterable[Sequence[JsonObject]]) -> None:
    """Write each batch in a transaction of its own, with the cursor in it."""
    with held_lease("events") as held:
        window = a_window(cluster, kind=RESOURCE_CLAIMS, held=held)
        for batch in batches:
            with window.writing():
                apply(cluster, kind=RESOURCE_CLAIMS, objects=batch, seen_at=timezone.now())


def with_type(claim: JsonObject) -> JsonObject:
    """Add what a watch's objects carry and a list's items do not."""
    kind = RESOURCE_CLAIMS
    return {"apiVersion": kind.api_version, "kind": kind.kind, **claim}


def steps(cluster: Cluster, *, api: str, fleet: Fleet) -> Iterator[JsonObject]:
    """Mirror, list again, list after changes, follow."""
    objects = fleet.nodes + fleet.claims
    show(api, "first")
    idle = peak_mebibytes()
    cost = cost_of(lambda: list_kinds(cluster))
    memory: JsonObject = {"idle_mebibytes": idle, "peak_mebibytes": peak_mebibytes()}
    yield {"step": "cold", "objects": objects, **cost.to_json(), **memory}
    cost = cost_of(lambda: list_kinds(cluster))
    yield {"step": "unchanged", "objects": objects, **cost.to_json()}
    show(api, "changed")
    cost = cost_of(lambda: list_kinds(cluster))
    yield {"step": "changed", "objects": objects, **cost.to_json()}
    yield from watch_batches(cluster, fleet)


def main() -> None:
    """Make the tables, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kubeconfig", required=True)
    parser.add_argument("--api", required=True)
    parser.add_argument("--nodes", type=int, required=True)
    parser.add_argument("--gpus", type=int, required=True)
    parser.add_argument("--claims", type=int, required=True)
    options = parser.parse_args()
    call_command("migrate", verbosity=0)
    cluster = Cluster.objects.create(name="bench", kubeconfig=options.kubeconfig)
    make_cursors(cluster)
    fleet = Fleet(options.nodes, options.gpus, options.claims)
    look_less_often()
    done = []
    for step in steps(cluster, api=options.api, fleet=fleet):
        print(json.dumps(step), file=sys.stderr)
        done.append(step)
    print(json.dumps(done))


if __name__ == "__main__":
    main()
