"""`python -m dra_console.running`: run the console on a cluster that is there, until Ctrl-C.

The processes are those of production, with SQLite and a Redis of their own, all on 127.0.0.1.
Nothing is installed in the cluster.
"""

import argparse
import json
import re
import shlex
from dataclasses import asdict, replace
from pathlib import Path
from typing import Final

from dra_console.kube.client import Client
from dra_console.running.accounts import Account, Person, ensure_accounts, manage
from dra_console.running.children import Supervisor
from dra_console.running.lifetime import say, supervised, tend_for_ever, wait_until
from dra_console.running.ports import REDIS_PORT, Ports, free_ports
from dra_console.running.preflight import Finding, has_rights, kubeconfig_path, look_at
from dra_console.running.programs import console_environment, console_programs, redis_program
from dra_console.running.readiness import redis_answers, web_answers
from dra_console.running.rights import PEOPLE, USERS_NAMESPACE, rights_yaml
from dra_console.running.state import State, write_private

DEFAULT_DIRECTORY: Final = Path(".run")
DEFAULT_WEB_PORT: Final = 8000


def main() -> None:
    """Run the console; the exit status is 0 after Ctrl-C, 1 when something is in the way."""
    parser = argparse.ArgumentParser(prog="make run", description=__doc__)
    parser.add_argument("--kubeconfig", default="", help="the cluster's kubeconfig file")
    parser.add_argument("--context", default="", help="default: the file's current one")
    parser.add_argument(
        "--name", default="", help="of the cluster on the pages (default: the context's)"
    )
    parser.add_argument(
        "--dir",
        type=Path,
        default=None,
        help=f"where state lives (default: {DEFAULT_DIRECTORY}/NAME)",
    )
    parser.add_argument("--port", type=int, default=DEFAULT_WEB_PORT, help="of the web pages")
    parser.add_argument("--as", dest="user", default="", help="Kubernetes user of account admin")
    parser.add_argument(
        "--as-group", action="append", default=[], help="a group of that user; repeat for several"
    )
    options = parser.parse_args()
    path = kubeconfig_path(options.kubeconfig)
    client, finding = look_at(path, context=options.context)
    name = options.name or _name_of(finding.context)
    state = State((options.dir or DEFAULT_DIRECTORY / name).resolve())
    state.prepare()
    people = _people(options.user, options.as_group)
    rights = state.home / "rights.yaml"
    rights.write_text(rights_yaml(people), encoding="utf-8")
    with supervised(state, tidy_up=lambda: None) as supervisor:
        ports = Ports(**free_ports(state, {"web": options.port, "redis": REDIS_PORT}, say=say))
        added = ("cluster", "add", name, "--kubeconfig", str(path), "--context", options.context)
        accounts = _start(state, ports, added, people=people, supervisor=supervisor)
        _announce(state, ports, accounts, finding)
        _say_rights(client, finding, people, rights=rights, kubeconfig=path)
        say("Ctrl-C ends everything here; the cluster stays as it is.")
        tend_for_ever(supervisor)
    say(f"All processes have ended. `make run` resumes from {state.home}")


def _start(
    state: State,
    ports: Ports,
    added: tuple[str, ...],
    *,
    people: tuple[Person, ...],
    supervisor: Supervisor,
) -> dict[str, Account]:
    environment = console_environment(state, ports)
    say("Preparing the database")
    supervisor.start([redis_program(state, ports)])
    manage(environment, "migrate", "--no-input", "-v", "0")
    wait_until(lambda: redis_answers(ports), what="Redis", supervisor=supervisor)
    say(manage(environment, *added).rstrip())
    say("Starting web, worker and beat")
    supervisor.start(console_programs(state, ports))
    accounts = ensure_accounts(state, environment, people=people)
    wait_until(lambda: web_answers(ports), what="the web pages", supervisor=supervisor)
    return accounts


def _announce(state: State, ports: Ports, accounts: dict[str, Account], finding: Finding) -> None:
    url = f"http://127.0.0.1:{ports.web}/"
    users = {name: asdict(account) for name, account in accounts.items()}
    write_private(state.summary, json.dumps({"url": url, "users": users}, indent=2))
    say("")
    say(f"  DRA Console   {url}")
    for account in accounts.values():
        say(f"  log in as     {account.username} / {account.password}")
    say(f"  cluster       Kubernetes {finding.server}, as {finding.identity or 'it does not say'}")
    say(f"  for scripts   {state.summary}")
    say("")
    for warning in finding.warnings:
        say(f"  ! {warning}")


def _say_rights(
    client: Client, finding: Finding, people: tuple[Person, ...], *, rights: Path, kubeconfig: Path
) -> None:
    for person in people:
        groups = f" of group {' and '.join(person.groups)}" if person.groups else ""
        say(f"{person.username} acts as Kubernetes user {person.kubernetes_username}{groups}.")
    say(
        f"The console impersonates them: {finding.identity or 'the identity of the kubeconfig'}"
        " needs the right to impersonate these users and groups."
    )
    strangers = [person.username for person in people if has_rights(client, person) is False]
    if strangers:
        words = ("kubectl", "--kubeconfig", str(kubeconfig), "apply", "-f", str(rights))
        say(f"Without rights in the cluster so far, so pages are empty: {', '.join(strangers)}.")
        say(f"To let admin work everywhere, and researcher in namespace {USERS_NAMESPACE},")
        say("look at these roles and apply them:")
        say(f"  {shlex.join(words)}")


def _people(user: str, groups: list[str]) -> tuple[Person, Person]:
    if not user:
        return PEOPLE
    admin, researcher = PEOPLE
    return replace(admin, kubernetes_username=user, groups=tuple(groups)), researcher


def _name_of(text: str) -> str:
    """Make a cluster's name of a context's."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:63] or "cluster"


if __name__ == "__main__":
    main()
