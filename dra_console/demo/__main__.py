"""`python -m dra_console.demo`: start everything, say where, run until Ctrl-C."""

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from dra_console.demo.layout import Layout, Ports, choose_ports, prepare_layout
from dra_console.demo.programs import CLUSTER, NODE_PROFILES, Plan, plan
from dra_console.demo.readiness import api_server_answers, mirrored_nodes
from dra_console.running.accounts import Account, Person, ensure_accounts, manage
from dra_console.running.children import Supervisor
from dra_console.running.lifetime import say, supervised, tend_for_ever, wait_until
from dra_console.running.programs import console_environment
from dra_console.running.readiness import redis_answers, web_answers
from dra_console.running.state import write_private

DEFAULT_WEB_PORT = 8000
PEOPLE = (
    Person("admin", "admin", ("gpu-admins",), is_operator=True),
    Person("researcher", "researcher", ("team-research",)),
)


def main() -> None:
    """Run the demo; the exit status is 0 after Ctrl-C, 1 when something did not come up."""
    parser = argparse.ArgumentParser(prog="make demo", description=__doc__)
    parser.add_argument("--dir", type=Path, default=Path(".demo"), help="where its state lives")
    parser.add_argument("--port", type=int, default=DEFAULT_WEB_PORT, help="of the web pages")
    parser.add_argument("--no-workload", action="store_true", help="start no pods by itself")
    options = parser.parse_args()
    layout = prepare_layout(options.dir, say=say)
    with supervised(layout, tidy_up=lambda: _remove_leftovers(layout)) as supervisor:
        ports = choose_ports(layout, web=options.port, say=say)
        programs = plan(layout, ports, with_workload=not options.no_workload)
        _run(layout, ports, programs, supervisor)
    say(f"All processes have ended. `make demo` resumes from {layout.home}")


def _remove_leftovers(layout: Layout) -> None:
    """Remove the files of nodes that only meant something to running processes."""
    for path in layout.nodes.rglob("*"):
        if path.suffix == ".lock" or path.is_socket():
            path.unlink()


def _run(layout: Layout, ports: Ports, programs: Plan, supervisor: Supervisor) -> None:
    environment = console_environment(layout, ports)
    say("Starting the cluster and preparing the database")
    supervisor.start(programs.servers)
    manage(environment, "migrate", "--no-input", "-v", "0")
    wait_until(lambda: redis_answers(ports), what="Redis", supervisor=supervisor)
    wait_until(lambda: api_server_answers(ports), what="the API server", supervisor=supervisor)
    manage(environment, "cluster", "add", CLUSTER, "--kubeconfig", str(layout.kubeconfig))
    say("Starting web, worker, beat and six node agents")
    supervisor.start((*programs.console, *programs.agents))
    accounts = ensure_accounts(layout, environment, people=PEOPLE)
    wait_until(lambda: web_answers(ports), what="the web pages", supervisor=supervisor)
    wait_until(
        lambda: mirrored_nodes(ports, accounts["admin"]) == len(NODE_PROFILES),
        what="six nodes with their devices in the mirror",
        supervisor=supervisor,
    )
    supervisor.start(programs.workload)
    _announce(layout, ports, accounts)
    tend_for_ever(supervisor)


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
