"""The demo's two people: made once, with random passwords that the demo prints."""

import json
import os
import secrets
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from dra_console.demo.layout import Layout, write_private

GROUPS: Mapping[str, str] = {"admin": "gpu-admins", "researcher": "team-research"}
"""Log-in name to Kubernetes group."""

REPOSITORY = Path(__file__).resolve().parents[2]


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


def ensure_accounts(layout: Layout, environment: Mapping[str, str]) -> dict[str, Account]:
    """Read the accounts of the last run, or make them."""
    if layout.accounts.exists():
        kept = json.loads(layout.accounts.read_text(encoding="utf-8"))
        return {name: Account(**account) for name, account in kept.items()}
    accounts = {
        name: _make_account(environment, name=name, group=group) for name, group in GROUPS.items()
    }
    kept = {name: asdict(account) for name, account in accounts.items()}
    write_private(layout.accounts, json.dumps(kept, indent=2))
    return accounts


def _make_account(environment: Mapping[str, str], *, name: str, group: str) -> Account:
    password = secrets.token_urlsafe(12)
    printed = manage(
        environment,
        "access_user",
        name,
        "--group",
        group,
        "--password-file",
        "-",
        "--token",
        stdin=password,
    )
    return Account(username=name, password=password, token=json.loads(printed)["token"])
