"""Databases that are migrated already, made once for each content of the migrations.

Migrating takes two seconds of a processor, and every session, worker and module with a database
of its own needs one. What is made is kept in the user's cache folder; its name tells what it was
made from, so another content of the migrations makes another one.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import django
import psycopg

from tests.postgresql import copy_folder, running_postgresql, version
from tests.settings import free_port

ROOT: Final = Path(__file__).resolve().parents[1]
CACHE: Final = Path.home() / ".cache/dra-console/migrated"
DATABASE: Final = "test_console"
"""As Django calls the test database of one that is called `console`."""

KEPT: Final = 3
UNUSED_SECONDS: Final = 3600
"""Long enough for whoever copies it just now."""

OURS: Final = re.compile(r"^(?:from|import) (dra_console(?:\.\w+)+)", re.MULTILINE)


def put_sqlite(database: Path) -> None:
    """Make a migrated SQLite database of this name."""
    shutil.copyfile(once("sqlite", sources(), _make_sqlite), database)


@contextmanager
def running_migrated_postgresql(directory: Path, *, port: int) -> Iterator[None]:
    """Run a server with the migrated database `test_console`; a template for further ones."""
    made = once("postgresql", sources() + version().encode(), _make_postgresql)
    with running_postgresql(directory, port=port, made_from=made):
        yield


def sources(root: Path = ROOT) -> bytes:
    """Return all that decides what migrating makes: migrations, and what they import of ours."""
    migrations = sorted(root.glob("dra_console/*/migrations/*.py"))
    contents = {path: path.read_bytes() for path in migrations}
    named = {name for content in contents.values() for name in OURS.findall(content.decode())}
    imported = [root / f"{name.replace('.', '/')}.py" for name in sorted(named)]
    here = Path(__file__)
    for path in (*imported, here, here.with_name("postgresql.py")):
        contents[path] = path.read_bytes()
    parts = [django.__version__.encode()]
    for path, content in contents.items():
        parts += [path.name.encode(), content]
    return b"\0".join(parts)


def once(kind: str, content: bytes, make: Callable[[Path], None]) -> Path:
    """Return what `make` makes of this content, made by whoever asks first."""
    CACHE.mkdir(parents=True, exist_ok=True)
    made = CACHE / f"{kind}-{hashlib.sha256(content).hexdigest()[:16]}"
    with (CACHE / f"{kind}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            _forget_unused(kind)
            unfinished = CACHE / f"unfinished-{kind}"
            _remove(unfinished)
            make(unfinished)
            unfinished.rename(made)
        os.utime(made)
    return made


def _forget_unused(kind: str) -> None:
    by_age = sorted(CACHE.glob(f"{kind}-*"), key=lambda path: path.stat().st_mtime)
    for path in by_age[: 1 - KEPT]:
        if time.time() - path.stat().st_mtime > UNUSED_SECONDS:
            _remove(path)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _make_sqlite(database: Path) -> None:
    _migrate(f"sqlite://{database}")


def _make_postgresql(made: Path) -> None:
    # Not in the cache: PostgreSQL's user must be able to pass through to its data.
    with TemporaryDirectory(prefix="dra-migrated-") as folder:
        directory, port = Path(folder) / "data", free_port()
        with running_postgresql(directory, port=port, is_to_be_copied=True):
            with psycopg.connect(_address(port, "postgres"), autocommit=True) as connection:
                connection.execute(f"create database {DATABASE}")
            _migrate(_address(port))
        copy_folder(directory, made)


def _address(port: int, database: str = DATABASE) -> str:
    return f"postgresql://postgres@127.0.0.1:{port}/{database}"


def _migrate(database_url: str) -> None:
    settings = {
        "DJANGO_SETTINGS_MODULE": "dra_console.settings",
        "DRA_CONSOLE_SECRET_KEY": "to-migrate",
        "DRA_CONSOLE_DATABASE_URL": database_url,
    }
    subprocess.run(
        [sys.executable, "manage.py", "migrate", "--verbosity", "0"],
        cwd=ROOT,
        env=os.environ | settings,
        check=True,
    )
