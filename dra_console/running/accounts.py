"""People who may log in to a run: made once, with random passwords that it prints."""

import json
import os
import secrets
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from dra_console.running.state import State, write_private

REPOSITORY = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Person:
    """Who logs in, and as whom the console speaks to the cluster for them."""

    username: str
    kubernetes_username: str
    groups: tuple[str, ...]
    is_operator: bool = False
    """Sees in full what keeps a cluster from being followed."""


@dataclass(frozen=True, slots=True)
class Account:
    """How one person logs in, and the token for scripts."""

    username: str
    password: str
    token: str


def manage(environment: Mapping[str, str], *arguments: str, stdin: str = "") -> str:
    """Run a management command and return what it printed.

    Raises:
        SystemExit: the command failed; what it said is passed on.

    """
    done = subprocess.run(
        [sys.executable, str(REPOSITORY / "manage.py"), *arguments],
        env={**os.environ, **environment},
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"manage.py {' '.join(arguments)} failed:\n{done.stderr}{done.stdout}")
    return done.stdout


def ensure_accounts(
    state: State, environment: Mapping[str, str], *, people: Iterable[Person]
) -> dict[str, Account]:
    """Make the accounts, or take those of the last run; they act as `people` says in any case."""
    if state.accounts.exists():
        kept = json.loads(state.accounts.read_text(encoding="utf-8"))
        for person in people:
            manage(environment, *_identity_words(person))
        return {name: Account(**account) for name, account in kept.items()}
    accounts = {person.username: _make_account(environment, person) for person in people}
    kept = {name: asdict(account) for name, account in accounts.items()}
    write_private(state.accounts, json.dumps(kept, indent=2))
    return accounts


def _make_account(environment: Mapping[str, str], person: Person) -> Account:
    password = secrets.token_urlsafe(12)
    words = (*_identity_words(person), "--password-file", "-", "--token")
    token = json.loads(manage(environment, *words, stdin=password))["token"]
    return Account(username=person.username, password=password, token=token)


def _identity_words(person: Person) -> tuple[str, ...]:
    groups = (word for group in person.groups for word in ("--group", group))
    named = ("--kubernetes-username", person.kubernetes_username)
    operator = ("--operator" if person.is_operator else "--no-operator",)
    return ("access_user", person.username, *named, *groups, *operator)
