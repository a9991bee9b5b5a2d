"""`python -m dra_console.demo`: start everything, say where, run until Ctrl-C."""

import argparse
import fcntl
import json
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from types import FrameType

from dra_console.demo.accounts import Account, ensure_accounts, manage
from dra_console.demo.children import Supervisor
from dra_console.demo.layout import Layout, Ports, choose_ports, prepare_layout, write_private
from dra_console.demo.programs import NODE_PROFILES, Plan, console_environment, plan
from dra_console.demo.readiness import (
    api_server_answers,
    mirrored_nodes,
    redis_answers,
    web_answers,
)

DEFAULT_WEB_PORT = 8000
READY_SECONDS = 120
LOOK_SECONDS = 0.2
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main() -> None:
    """Run the demo; the exit status is 0 after Ctrl-C, 1 when something did not come up."""
    parser = argparse.ArgumentParser(prog="make demo", description=__doc__)
    parser.add_argument("--dir", type=Path, default=Path(".demo"), help="where its state lives")
    parser.add_argument("--port", type=int, default=DEFAULT_WEB_PORT, help="of the web pages")
    parser.add_argument("--no-workload", action="store_true", help="start no pods by itself")
    options = parser.parse_args()
    layout = prepare_layout(options.dir, say=say)
    with _only_one(layout):
        layout.summary.unlink(missing_ok=True)
        ports = choose_ports(layout, web=options.port, say=say)
        programs = plan(layout, ports, with_workload=not options.no_workload)
        supervisor = Supervisor(logs=layout.logs, say=say)
        for number in STOP_SIGNALS:
            signal.signal(number, _stop)
        try:
            _run(layout, ports, programs, supervisor)
        except KeyboardInterrupt:
            say("Stopping")
        finally:
            supervisor.stop()
            _remove_leftovers(layout)
    say(f"All processes have ended. `make demo` resumes from {layout.home}")


def say(line: str) -> None:
    """Print one line at once."""
    print(line, flush=True)  # noqa: T201 - the demo speaks to a person


def _stop(_signal: int, _frame: FrameType | None) -> None:
    """Begin to stop; an impatient second Ctrl-C must not cut the stopping short."""
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


@contextmanager
def _only_one(layout: Layout) -> Iterator[None]:
    with layout.lock.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SystemExit(f"a demo already runs in {layout.home}") from None
        try:
            yield
        finally:
            layout.lock.unlink(missing_ok=True)


def _remove_leftovers(layout: Layout) -> None:
    """Remove the files that only meant something to running processes."""
    layout.summary.unlink(missing_ok=True)
    for path in layout.nodes.rglob("*"):
        if path.suffix == ".lock" or path.is_socket():
            path.unlink()


def _run(layout: Layout, ports: Ports, programs: Plan, supervisor: Supervisor) -> None:
    environment = console_environment(layout, ports)
    say("Starting the cluster and preparing the database")
    supervisor.start(programs.servers)
    manage(environment, "migrate", "--no-input", "-v", "0")
    _wait(supervisor, lambda: redis_answers(ports), what="Redis")
    _wait(supervisor, lambda: api_server_answers(ports), what="the API server")
    manage(environment, "cluster", "add", "demo", "--kubeconfig", str(layout.kubeconfig))
    say("Starting web, worker, beat and six node agents")
    supervisor.start((*programs.console, *programs.agents))
    accounts = ensure_accounts(layout, environment)
    _wait(supervisor, lambda: web_answers(ports), what="the web pages")
    _wait(
        supervisor,
        lambda: mirrored_nodes(ports, accounts["admin"]) == len(NODE_PROFILES),
        what="six nodes with their devices in the mirror",
    )
    supervisor.start(programs.workload)
    _announce(layout, ports, accounts)
    while True:
        supervisor.tend()
        time.sleep(LOOK_SECONDS)


def _wait(supervisor: Supervisor, ready: Callable[[], bool], *, what: str) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while not ready():
        if time.monotonic() > deadline:
            sys.exit(f"{what} did not come up within {READY_SECONDS} s; see the logs")
        supervisor.tend()
        time.sleep(LOOK_SECONDS)


def _announce(layout: Layout, ports: Ports, accounts: dict[str, Account]) -> None:
    url = f"http://127.0.0.1:{ports.web}/"
    summary = {
        "url": url,
        "kubeconfig": str(layout.kubeconfig),
        "api_server": f"http://127.0.0.1:{ports.api_server}",
        "users": {name: asdict(account) for name, account in accounts.items()},
    }
    write_private(layout.summary, json.dumps(summary, indent=2))
    say("")
    say(f"  DRA Console   {url}")
    for account in accounts.values():
        say(f"  log in as     {account.username} / {account.password}")
    say(f"  kubectl       --kubeconfig {layout.kubeconfig}")
    say(f"  for scripts   {layout.summary}")
    say("")
    say("The GPUs are simulated. Ctrl-C ends everything.")


if __name__ == "__main__":
    main()
