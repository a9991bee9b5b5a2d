"""A real PostgreSQL for the length of a block."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.programs import need


@contextmanager
def running_postgresql(directory: Path, *, port: int) -> Iterator[None]:
    """Run a server with the user `postgres` and its data in `directory`, which is made.

    The folder above becomes one that everybody may pass through.
    """
    binaries = max(Path("/usr/lib/postgresql").glob("*/bin"), default=None)
    initdb = need("initdb", str(binaries / "initdb") if binaries else "")
    pg_ctl = str(Path(initdb).with_name("pg_ctl"))
    as_owner = _as_unprivileged(directory)
    subprocess.run(
        [*as_owner, initdb, "-D", directory, "-U", "postgres", "-A", "trust", "--no-sync"],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    options = f"-p {port} -k {directory} -c fsync=off -c listen_addresses=127.0.0.1"
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
            [*as_owner, pg_ctl, "-D", directory, "-m", "immediate", "stop"],
            check=True,
            stdout=subprocess.DEVNULL,
        )


def _as_unprivileged(directory: Path) -> list[str]:
    """PostgreSQL refuses to run as root: use Debian's `postgres` user there."""
    directory.mkdir(mode=0o700)
    if os.geteuid() != 0:
        return []
    directory.parent.chmod(0o755)
    shutil.chown(directory, "postgres", "postgres")
    return ["runuser", "-u", "postgres", "--"]
