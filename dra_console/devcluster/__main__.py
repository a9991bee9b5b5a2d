"""Run the embedded cluster: `python -m dra_console.devcluster --data-dir … --port …`."""

import argparse
import asyncio
import gc
import signal
import socket
import sys
from pathlib import Path
from typing import Final

import structlog

from dra_console.devcluster.cluster import Cluster
from dra_console.devcluster.controllers import run_controllers
from dra_console.devcluster.http import Api
from dra_console.devcluster.journal import JournalBusyError
from dra_console.devcluster.kubeconfig import write_kubeconfig
from dra_console.devcluster.scenario import create_missing, scenario
from dra_console.devcluster.server import LOOPBACK, listen, serve
from dra_console.devcluster.store import KEPT_EVENTS, Store
from dra_console.devcluster.tokens import Signer

log = structlog.get_logger()

CANNOT_START: Final = 3

COLLECTOR_THRESHOLDS: Final = (50_000, 50, 1_000)
"""New objects before the youngest are looked through; runs of those before older ones are."""


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m dra_console.devcluster", description=__doc__)
    parser.add_argument("--data-dir", type=Path, required=True, help="objects and keys")
    parser.add_argument("--port", type=int, required=True, help=f"on {LOOPBACK}; 0: a free one")
    parser.add_argument("--nodes-dir", type=Path, required=True, help="one kubelet root a node")
    parser.add_argument("--kubeconfig", type=Path, required=True, help="written once it serves")
    parser.add_argument("--scenario", choices=("demo", "empty"), default="empty")
    parser.add_argument(
        "--kept-events",
        type=int,
        default=KEPT_EVENTS,
        help="how many writes a watch can look back before it gets 410 (default: %(default)s)",
    )
    parser.add_argument(
        "--api-only", action="store_true", help="no controllers and no kubelets, the API alone"
    )
    return parser.parse_args()


async def run(options: argparse.Namespace, listener: socket.socket, store: Store) -> None:
    """Serve until SIGTERM or SIGINT; SIGUSR1 forgets the history, as a compaction does."""
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    loop.add_signal_handler(signal.SIGUSR1, store.compact)
    begin = scenario(options.scenario)
    create_missing(store, begin.objects)
    signer = Signer.from_directory(options.data_dir)
    api = Api(Cluster(store, begin.policy, signer), stopping=stopping)
    async with asyncio.TaskGroup() as tasks:
        controllers = tasks.create_task(_control(options, store, signer=signer))
        serving = tasks.create_task(serve(api, listener, stopping=stopping))
        url = f"http://{LOOPBACK}:{listener.getsockname()[1]}"
        write_kubeconfig(options.kubeconfig, url=url)
        log.info("devcluster serves", url=url, resource_version=store.resource_version)
        await serving
        controllers.cancel()


async def _control(options: argparse.Namespace, store: Store, *, signer: Signer) -> None:
    if not options.api_only:
        await run_controllers(store, signer=signer, nodes_dir=options.nodes_dir)


def _collect_less_often() -> None:
    """Keep the cyclic garbage collector from looking through all that is stored.

    That takes a third of a second with 10,000 objects, in which nobody is answered. Objects
    have no cycles; what has, such as an exception that was caught, is young when it goes.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECTOR_THRESHOLDS)


def main() -> int:
    """Start, or say in one line why not."""
    # Without colours and without the local variables of each frame: this goes into a file.
    renderer = structlog.dev.ConsoleRenderer(
        colors=False, exception_formatter=structlog.dev.plain_traceback
    )
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso"),
            renderer,
        ]
    )
    options = arguments()
    options.data_dir.mkdir(parents=True, exist_ok=True)
    try:
        listener = listen(options.port)
    except OSError as error:
        print(f"devcluster: port {options.port}: {error.strerror}", file=sys.stderr)  # noqa: T201 - a command line says so
        return CANNOT_START
    try:
        store = Store(options.data_dir / "cluster.db", kept_events=options.kept_events)
    except JournalBusyError as error:
        listener.close()
        print(f"devcluster: {error}", file=sys.stderr)  # noqa: T201 - a command line says so
        return CANNOT_START
    try:
        _collect_less_often()
        asyncio.run(run(options, listener, store))
    finally:
        store.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
