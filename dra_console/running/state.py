"""Where the processes on this machine keep their state: one directory.

A second run resumes, and `rm -rf` forgets.
"""

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

Say = Callable[[str], None]
"""Prints one line for the person who runs it."""


@dataclass(frozen=True, slots=True)
class State:
    """Paths of the files of a run; all absolute."""

    label: ClassVar[str] = "run"
    """Names the files that only mean something while it runs."""

    home: Path

    @property
    def database(self) -> Path:
        return self.home / "db.sqlite3"

    @property
    def logs(self) -> Path:
        return self.home / "logs"

    @property
    def secret_key(self) -> Path:
        return self.home / "secret-key"

    @property
    def accounts(self) -> Path:
        return self.home / "accounts.json"

    @property
    def ports(self) -> Path:
        return self.home / "ports.json"

    @property
    def summary(self) -> Path:
        return self.home / f"{self.label}.json"

    @property
    def lock(self) -> Path:
        return self.home / f"{self.label}.lock"

    def prepare(self) -> None:
        """Make the directories and the secret key, or find those of the last run."""
        self.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.logs.mkdir(exist_ok=True)
        if not self.secret_key.exists():
            write_private(self.secret_key, secrets.token_urlsafe(48))


def write_private(path: Path, text: str) -> None:
    """Replace a file in one step, readable by its owner alone."""
    temporary = path.with_name(f"{path.name}.new")
    temporary.touch(mode=0o600)
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)
