"""Let a real worker mirror a fleet, and say what it took: time, memory, delay of an event.

`python -m benchmarks.following --kubeconfig FILE --api URL --queues Q,Q` reads the console's
settings from the environment, wants an empty database, and prints one JSON object. The delay is
from just before the API server is told to send a change to the arrival of the page's topic in
another process, by way of Redis: what a browser's connection hears. Memory is read once all that
the queues' tasks keep of a fleet has been read.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.request import Request, urlopen

import django

django.setup()

from channels.layers import channel_layers  # noqa: E402 - Django had to be set up first
from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402

from dra_console import events  # noqa: E402
from dra_console.allocator.model import JsonObject  # noqa: E402
from dra_console.kube.kinds import RESOURCE_CLAIMS, RESOURCE_SLICES  # noqa: E402
from dra_console.mirror.models import Cluster, Cursor  # noqa: E402
from dra_console.scheduling.models import Attempt, ConflictCheck  # noqa: E402

EVENTS: Final = 40
PAUSE_SECONDS: Final = 0.25
LONGEST_SECONDS: Final = 600.0
WORKER: Final = (
    *(sys.executable, "-m", "celery", "-A", "dra_console.celery", "worker"),
    *("--without-gossip", "--without-mingle", "-l", "WARNING"),
)


@contextmanager
def worker(queues: str) -> Iterator[int]:
    """Run a worker of these queues for the block; yields its process id."""
    with subprocess.Popen([*WORKER, "-Q", queues], stdout=sys.stderr) as process:
        try:
            yield process.pid
        finally:
            # Not asked to stop: what it still schedules is of no interest here.
            process.kill()


def wait_until_listed(cluster: Cluster) -> None:
    """Wait for the first lists of slices and claims."""
    plurals = (RESOURCE_SLICES.plural, RESOURCE_CLAIMS.plural)
    listed = Cursor.objects.filter(cluster=cluster, plural__in=plurals).exclude(resource_version="")
    _wait(lambda: listed.count() == len(plurals), "the worker has not listed slices and claims")


def wait_until_looked_at(cluster: Cluster) -> None:
    """Wait until what waits is explained and conflicts are looked for, which both read it all."""
    explained = Attempt.objects.filter(cluster=cluster)
    looked = ConflictCheck.objects.filter(cluster=cluster)
    _wait(lambda: explained.exists() and looked.exists(), "the worker has not explained anything")


def _wait(is_so: Callable[[], bool], otherwise: str) -> None:
    deadline = time.monotonic() + LONGEST_SECONDS
    while not is_so():
        if time.monotonic() > deadline:
            raise TimeoutError(otherwise)
        time.sleep(0.1)


async def delays(cluster: Cluster, api: str) -> list[float]:
    """Let the API server send one change after the other; return the seconds until heard."""
    layer = channel_layers["default"]
    channel = await layer.new_channel()
    await layer.group_add(events.claims_topic(cluster.pk), channel)
    found = []
    for number in range(EVENTS):
        began = time.monotonic()
        await asyncio.to_thread(send_event, api, writes=1_000 + number)
        await asyncio.wait_for(layer.receive(channel), timeout=LONGEST_SECONDS)
        found.append(time.monotonic() - began)
        await asyncio.sleep(PAUSE_SECONDS)
    return found


def send_event(api: str, *, writes: int) -> None:
    """Have one change of a claim sent to whoever watches."""
    urlopen(Request(f"{api}/bench/events/1/{writes}", data=b"", method="POST")).close()  # noqa: S310 - our own server


def mebibytes(pid: int, field: str) -> float:
    """Return a process's memory: `VmHWM` is the most it had resident, `VmRSS` what it has."""
    for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
        name, _, value = line.partition(":")
        if name == field:
            return int(value.split()[0]) / 1024
    raise AssertionError(f"/proc has no {field}")


def cpu_seconds(pid: int) -> float:
    """Return a process's processor time so far."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    user, system, ticks = 11, 12, 100
    return (int(fields[user]) + int(fields[system])) / ticks


def main() -> None:
    """Make the tables, start the worker, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kubeconfig", required=True)
    parser.add_argument("--api", required=True)
    parser.add_argument("--queues", required=True, help="as Celery takes them: one,two")
    options = parser.parse_args()
    call_command("migrate", verbosity=0)
    cluster = Cluster.objects.create(name="bench", kubeconfig=options.kubeconfig)
    began = time.monotonic()
    with worker(options.queues) as pid:
        wait_until_listed(cluster)
        listed_seconds = time.monotonic() - began
        listed_cpu = cpu_seconds(pid)
        time.sleep(2)
        found = sorted(asyncio.run(delays(cluster, options.api)))
        wait_until_looked_at(cluster)
        result: JsonObject = {
            "step": "worker",
            "queues": options.queues,
            "database": connection.vendor,
            "from_start_to_listed_seconds": listed_seconds,
            "from_start_to_listed_cpu_seconds": listed_cpu,
            "peak_mebibytes": mebibytes(pid, "VmHWM"),
            "now_mebibytes": mebibytes(pid, "VmRSS"),
            "delay_p50_seconds": found[len(found) // 2],
            "delay_p95_seconds": found[len(found) * 95 // 100],
            "delay_longest_seconds": found[-1],
        }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
