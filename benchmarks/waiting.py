"""Let real workers allocate at a steady rate, and say how long each claim waited.

`python -m benchmarks.waiting --kubeconfig FILE --nodes N --rate N --seconds N` reads the
console's settings from the environment, wants an empty database and an API server without any
nodes, and prints one JSON array.
"""

import argparse
import gc
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Final

import django

django.setup()

from django.core.management import call_command  # noqa: E402 - Django had to be set up first

from benchmarks.following import mebibytes  # noqa: E402
from benchmarks.processes import cpu_by_role  # noqa: E402
from benchmarks.waiting_objects import Made, inventory, made_ahead, made_with_pods  # noqa: E402
from dra_console.allocator.model import JsonObject  # noqa: E402
from dra_console.kube.client import Client  # noqa: E402
from dra_console.kube.kinds import (  # noqa: E402
    BY_PLURAL,
    NODES,
    RESOURCE_CLAIMS,
)
from dra_console.kube.listwatch import open_watch  # noqa: E402
from dra_console.leases import is_held  # noqa: E402
from dra_console.mirror.models import Cluster, Node, ResourceSlice  # noqa: E402

CREATING_THREADS: Final = 8
LONGEST_SECONDS: Final = 300.0
LATE_SECONDS: Final = 30.0
"""A claim without devices so long after the last one was created gets none."""

WARM_UP_CLAIMS: Final = 20
WATCH_SECONDS: Final = 3600
WORKER: Final = (
    *(sys.executable, "-m", "celery", "-A", "dra_console.celery", "worker"),
    *("--without-gossip", "--without-mingle", "-l", "WARNING"),
)
BEAT: Final = (
    *(sys.executable, "-m", "celery", "-A", "dra_console.celery", "beat"),
    *("-l", "WARNING", "--schedule"),
)


@contextmanager
def running(*command: str) -> Iterator[int]:
    """Run a process for the block; yields its id."""
    with subprocess.Popen(command, stdout=sys.stderr) as process:
        try:
            yield process.pid
        finally:
            # Not asked to stop: what it still does is of no interest here.
            process.kill()


class Seen:
    """When allocations were seen, by the claim's name; a watch of its own thread."""

    def __init__(self, client: Client) -> None:
        self.at: Final[dict[str, float]] = {}
        version = client.list(RESOURCE_CLAIMS).resource_version
        self._thread = threading.Thread(target=self._follow, args=(client, version), daemon=True)
        self._thread.start()

    def _follow(self, client: Client, version: str) -> None:
        while True:  # Until the process ends; API servers end watches of slow readers.
            version = self._watch(client, version)

    def _watch(self, client: Client, version: str) -> str:
        with open_watch(
            client, RESOURCE_CLAIMS, resource_version=version, window_seconds=WATCH_SECONDS
        ) as stream:
            while not stream.at_end:
                events = stream.read(timeout_seconds=1.0)
                now = time.monotonic()
                for event in events:
                    version = event.resource_version
                    metadata, status = event.object["metadata"], event.object.get("status")
                    if not isinstance(status, dict) or not isinstance(metadata, dict):
                        continue
                    if status.get("allocation"):
                        self.at.setdefault(str(metadata["name"]), now)
        return version


def wait_until(is_so: Callable[[], bool], what: str) -> None:
    """Wait for something to become true."""
    deadline = time.monotonic() + LONGEST_SECONDS
    while not is_so():
        if time.monotonic() > deadline:
            raise TimeoutError(what)
        time.sleep(0.1)


def create_all(client: Client, objects: Sequence[JsonObject]) -> None:
    """Create objects, some at a time."""
    with ThreadPoolExecutor(CREATING_THREADS) as pool:
        list(pool.map(partial(create, client), objects))


def create(client: Client, one: JsonObject) -> None:
    """Create one object, and the status that it has."""
    (kind,) = (kind for kind in BY_PLURAL.values() if kind.kind == one["kind"])
    metadata = one["metadata"]
    namespace = metadata.get("namespace") if isinstance(metadata, dict) else None
    stored = client.create(kind, one, namespace=namespace if isinstance(namespace, str) else None)
    if kind == NODES:
        # New nodes are tainted as not ready, which a controller would take back.
        untainted = client.replace(kind, {**stored, "spec": {}})
        client.replace(kind, {**untainted, "status": one["status"]}, subresource="status")


def waits(
    client: Client, seen: Seen, made: Sequence[Made], *, rate: float
) -> tuple[dict[str, float], float]:
    """Create claims at a rate; return the seconds that each waited, and those that it took.

    Raises:
        TimeoutError: not one of them was allocated.

    """
    answered: dict[str, float] = {}

    def make(one: Made) -> None:
        for each in one.objects:
            create(client, each)
        answered[one.claim_name] = time.monotonic()

    began = time.monotonic()
    with ThreadPoolExecutor(CREATING_THREADS) as pool:
        for number, one in enumerate(made):
            time.sleep(max(began + number / rate - time.monotonic(), 0.0))
            pool.submit(make, one)
    took = time.monotonic() - began
    deadline = time.monotonic() + LATE_SECONDS
    while time.monotonic() < deadline and any(name not in seen.at for name in answered):
        time.sleep(0.05)
    found = {name: max(seen.at[name] - at, 0.0) for name, at in answered.items() if name in seen.at}
    if not found:
        raise TimeoutError("no claim was allocated")
    return found, took


def measured(  # noqa: PLR0913 - what one measurement is made of
    client: Client,
    seen: Seen,
    what: str,
    made: Sequence[Made],
    *,
    rate: float,
    allocator: int,
    home: str,
) -> JsonObject:
    """Measure one kind of demand."""
    waits(client, seen, made[:WARM_UP_CLAIMS], rate=rate)
    made = made[WARM_UP_CLAIMS:]
    cpu = cpu_by_role(home)
    found, took = waits(client, seen, made, rate=rate)
    ordered = sorted(found.values())
    return {
        "step": what,
        "claims": len(made),
        "allocated": len(ordered),
        "rate": len(made) / took,
        **{
            f"p{share}_seconds": ordered[min(len(ordered) * share // 100, len(ordered) - 1)]
            for share in (50, 95, 99)
        },
        "longest_seconds": ordered[-1],
        "cpu_seconds": {
            role: seconds - cpu.get(role, 0.0) for role, seconds in cpu_by_role(home).items()
        },
        "allocator_mebibytes": mebibytes(allocator, "VmHWM"),
    }


def main() -> None:
    """Make the tables and the fleet, start the workers, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kubeconfig", required=True)
    parser.add_argument("--home", required=True, help="stands in the servers' command lines")
    parser.add_argument("--nodes", type=int, required=True)
    parser.add_argument("--rate", type=float, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    options = parser.parse_args()
    call_command("migrate", verbosity=0)
    client = Client.from_kubeconfig(options.kubeconfig)
    create_all(client, list(inventory(options.nodes)))
    cluster = Cluster.objects.create(name="bench", kubeconfig=options.kubeconfig)
    claims = round(options.rate * options.seconds) + WARM_UP_CLAIMS
    with ExitStack() as stack:
        home = stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-waiting-"))
        stack.enter_context(running(*WORKER, "-Q", "sync,default"))
        allocator = stack.enter_context(running(*WORKER, "-Q", "schedule"))
        stack.enter_context(running(*BEAT, f"{home}/beat"))
        for rows, number in ((Node, options.nodes), (ResourceSlice, options.nodes)):
            wait_until(
                lambda rows=rows, number=number: rows.objects.count() >= number,  # type: ignore[misc]
                "the fleet is not mirrored",
            )
        # A pause of ours would be measured as one of the console's.
        gc.collect()
        gc.freeze()
        gc.disable()
        seen = Seen(client)
        create(client, made_ahead("warm", 1)[0].objects[0])
        wait_until(lambda: is_held(f"allocate:{cluster.pk}"), "no window was opened")
        wait_until(lambda: "warm-0" in seen.at, "nothing is allocated")
        steps = [
            measured(
                client,
                seen,
                what,
                made,
                rate=options.rate,
                allocator=allocator,
                home=options.home,
            )
            for what, made in (
                ("reserved ahead", made_ahead("ahead", claims)),
                ("for pods", made_with_pods("pod", claims)),
            )
        ]
    print(json.dumps(steps))


if __name__ == "__main__":
    main()
