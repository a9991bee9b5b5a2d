"""A node's containers, control groups and mounts go with the process that started the rig."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.workloads import eventually

CONTROL_GROUPS = Path("/sys/fs/cgroup")
PROGRAM = """
import time
from tests.cluster.rig import running_cluster
from tests.cluster.workloads import PODS, a_pod, eventually
with running_cluster(node=True) as cluster:
    a_pod(cluster, "stays", "sleep", "86399")
    eventually(lambda: cluster.api.get(f"{PODS}/stays")["status"]["phase"] == "Running")
    print(cluster.home.folder, flush=True)
    time.sleep(600)
"""


def containers(folder: Path) -> list[str]:
    tasks = folder / "node/containerd/state/io.containerd.runtime.v2.task/k8s.io"
    return [each.name for each in tasks.glob("*")]


def processes_in(container: str) -> list[int]:
    """Return the processes of a container's control groups."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if container in (entry / "cgroup").read_text():
                found.append(int(entry.name))
        except OSError:
            continue  # it ended meanwhile
    return found


@pytest.fixture
def with_a_pod() -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """Run a node with a pod in another process; yields it and the rig's folder."""
    process = subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    yield process, Path(process.stdout.readline().strip())
    process.kill()
    process.wait()
    process.stdout.close()


@pytest.mark.usefixtures("cluster_programs", "node_programs")
def test_kill_9_of_the_rig_leaves_no_container(
    with_a_pod: tuple[subprocess.Popen[str], Path],
) -> None:
    process, folder = with_a_pod
    found = containers(folder)
    assert len(found) == 2, "a sandbox and a container"
    assert all(processes_in(each) for each in found)

    os.kill(process.pid, signal.SIGKILL)

    eventually(lambda: not folder.exists())
    for each in found:
        # A killed process is listed until its new parent takes notice.
        eventually(lambda container=each: not processes_in(container))  # type: ignore[misc]
        assert not list(CONTROL_GROUPS.glob(f"**/{each}"))
    assert str(folder) not in Path("/proc/self/mounts").read_text()
    if not shutil.which("containerd"):  # where it is, its own containers have the same parent
        assert not list(CONTROL_GROUPS.glob("**/k8s.io"))
        assert not Path("/run/containerd").exists()
