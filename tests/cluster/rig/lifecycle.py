"""A cluster's beginning and end: the folder, the guard that outlives us, the logs of a failure."""

import contextlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from tests.cluster.rig import guard
from tests.cluster.rig.addresses import Addresses
from tests.cluster.rig.certificates import Authority
from tests.cluster.rig.cluster import Cluster
from tests.cluster.rig.containerd import Containerd
from tests.cluster.rig.home import Home
from tests.cluster.rig.mounts import MountNamespace
from tests.cluster.rig.options import ClusterOptions
from tests.cluster.rig.process import Server, StartError
from tests.cluster.tools.recipes import cache_folder

PREFIX: Final = "dra-rig-"
GUARD_SECONDS: Final = 60
KEPT_FAILURES: Final = 5
RUNNING: Final[list[Cluster]] = []
"""Those of this process, so that a failed test can say what they said."""


class LeftBehindError(Exception):
    """Something of a rig could not be taken away; the message names it."""


@contextlib.contextmanager
def running_cluster(**options: Any) -> Iterator[Cluster]:
    """Run a cluster with these `ClusterOptions` until the block ends, then leave nothing.

    Raises:
        MissingProgramError: its programs are not built.
        StartError: a process did not come up. All logs are kept where the message says.
        LeftBehindError: something stayed; it is a defect of the rig.

    """
    wanted = ClusterOptions(**options)
    cluster: Cluster | None = None
    try:
        with _guarded_folder() as folder:
            home = _home(folder)
            cluster = Cluster(home, wanted)
            try:
                cluster.start()
            except StartError as error:
                kept = keep_logs(cluster)
                raise StartError(f"{error}\nAll logs: {kept}") from None
            RUNNING.append(cluster)
            try:
                yield cluster
            finally:
                RUNNING.remove(cluster)
    finally:
        if cluster is not None:
            cluster.reap()


def keep_logs(cluster: Cluster) -> Path:
    """Copy the logs out of the folder that goes; only those of the last few failures are kept."""
    folder = cluster.home.folder
    kept = cache_folder() / "failed" / folder.name
    shutil.copytree(folder / "logs", kept, dirs_exist_ok=True)
    earlier = sorted(kept.parent.iterdir(), key=lambda path: path.stat().st_mtime)
    for path in earlier[:-KEPT_FAILURES]:
        shutil.rmtree(path, ignore_errors=True)
    return kept


@contextlib.contextmanager
def running_containerd() -> Iterator[Containerd]:
    """Run containerd alone, with the image of pods, until the block ends.

    Raises:
        MissingProgramError: its programs are not built.
        StartError: it did not come up; the message has the end of its log.
        LeftBehindError: something stayed; it is a defect of the rig.

    """
    servers: list[Server] = []
    try:
        with _guarded_folder() as folder:
            home = _home(folder)
            mounts = MountNamespace(home, folder)
            containerd = Containerd(home, folder, mounts)
            servers += [mounts, containerd]
            for server in servers:
                server.start()
            containerd.import_image()
            yield containerd
    finally:
        for server in servers:
            server.reap()


def _home(folder: Path) -> Home:
    (folder / "logs").mkdir()
    authority = Authority(folder / "certificates")
    api = Addresses.of(folder).api
    return Home(folder, authority, authority.for_server("server", addresses=[api]))


@contextlib.contextmanager
def _guarded_folder() -> Iterator[Path]:
    """Make a folder that goes, with all processes marked by it, when this process does."""
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    keeper = subprocess.Popen(
        [sys.executable, "-I", guard.__file__, folder],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd="/",
        start_new_session=True,
    )
    try:
        yield folder
    finally:
        _, told = keeper.communicate(timeout=GUARD_SECONDS)
    if keeper.returncode != 0:
        raise LeftBehindError(told.strip())
