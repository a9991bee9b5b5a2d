"""A real PostgreSQL for the length of a block."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.programs import need


@contextmanager
def running_postgresql(
    directory: Path, *, port: int, made_from: Path | None = None, is_to_be_copied: bool = False
) -> Iterator[None]:
    """Run a server with the user `postgres` and its data in `directory`, which is made.

    It begins with nothing, or with the data in `made_from`, which one that was to be copied has
    left. The folder above becomes one that everybody may pass through.
    """
    initdb = _initdb()
    pg_ctl = str(Path(initdb).with_name("pg_ctl"))
    as_owner = _as_unprivileged(directory)
    if made_from is None:
        subprocess.run(
            [*as_owner, initdb, "-D", directory, "-U", "postgres", "-A", "trust", "--no-sync"],
            check=True,
            stdout=subprocess.DEVNULL,
        )
    else:
        copy_folder(made_from, directory)
    options = f"-p {port} -k {directory} -c fsync=off -c listen_addresses=127.0.0.1"
    # Whoever stops at once leaves data that have to be recovered first.
    stop = "fast" if is_to_be_copied else "immediate"
    log = directory / "server.log"
    subprocess.run(
        [*as_owner, pg_ctl, "-D", directory, "-w", "-l", log, "-o", options, "start"],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        subprocess.run(
            [*as_owner, pg_ctl, "-D", directory, "-m", stop, "stop"],
            check=True,
            stdout=subprocess.DEVNULL,
        )


def version() -> str:
    """Return what the server calls itself."""
    return subprocess.run(
        [_initdb(), "--version"], check=True, stdout=subprocess.PIPE, text=True
    ).stdout


def copy_folder(source: Path, target: Path) -> None:
    """Copy all there is, owners included: PostgreSQL uses only data that are its own."""
    target.mkdir(exist_ok=True)
    subprocess.run(["cp", "-a", f"{source}/.", target], check=True)


def _initdb() -> str:
    binaries = max(Path("/usr/lib/postgresql").glob("*/bin"), default=None)
    return need("initdb", str(binaries / "initdb") if binaries else "")


def _as_unprivileged(directory: Path) -> list[str]:
    """PostgreSQL refuses to run as root: use Debian's `postgres` user there."""
    directory.mkdir(mode=0o700)
    if os.geteuid() != 0:
        return []
    directory.parent.chmod(0o755)
    shutil.chown(directory, "postgres", "postgres")
    return ["runuser", "-u", "postgres", "--"]
