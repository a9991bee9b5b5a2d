"""Whether containers really got what their claims' CDI files say, and nothing that they do not.

A runtime without CDI ignores the names that kubelet hands it, and the pod starts without its
device; one with NVIDIA's legacy hook adds GPUs that nobody allocated. Both are seen from outside
in the container's own `/dev`, below `/proc/<pid>/root` (node-agent.md 8: faults 35 and 36).
"""

import json
import re
import stat
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from nodeagent.fields import FieldError, Fields
from nodeagent.usage.procfs import Process, Procfs

GPU_NODE: Final = re.compile(r"nvidia[0-9]+")
SEEN_BY_PRIVILEGED_ONLY: Final = "/dev/mem"


@dataclass(frozen=True, slots=True)
class Promised:
    """What one claim's CDI file gives to a container."""

    nodes: frozenset[str]
    variables: frozenset[str]
    """As in `NAME=value`."""

    host_nodes: frozenset[str] = frozenset()
    """The GPUs' own nodes as the host knows them."""

    @classmethod
    def by_file(cls, path: Path) -> "Promised | None":
        """Read a claim's file; `None` if it cannot be read, so that nothing is known."""
        try:
            spec = Fields.of(json.loads(path.read_bytes()), "spec")
            nodes: set[str] = set()
            variables: set[str] = set()
            host_nodes: set[str] = set()
            for device in spec.objects("devices"):
                edits = device.object("containerEdits")
                for node in edits.objects("deviceNodes"):
                    nodes.add(node.text("path"))
                    host_nodes.add(node.optional_text("hostPath") or node.text("path"))
                variables.update(edits.texts("env"))
        except (OSError, ValueError, FieldError):
            return None
        gpus = frozenset(one for one in host_nodes if GPU_NODE.fullmatch(Path(one).name))
        return cls(frozenset(nodes), frozenset(variables), gpus)


def processes_by_container(
    procfs: Procfs, pod_uids: Collection[str]
) -> dict[str, dict[str, Process]]:
    """Return one process of each container, by pod: its oldest, which the runtime started."""
    oldest: dict[str, dict[str, Process]] = {}
    for process in procfs.of_pods(pod_uids):
        if process.owner is None or process.owner.container_id is None:
            continue
        containers = oldest.setdefault(process.owner.pod_uid, {})
        known = containers.get(process.owner.container_id)
        if known is None or int(process.started) < int(known.started):
            containers[process.owner.container_id] = process
    return oldest


def has_got(procfs: Procfs, process: Process, promised: Promised) -> bool | None:
    """Tell whether a container has what was promised; `None`: there is nothing to look for.

    Nodes count if there are any, since a program may start others without its environment.
    """
    if promised.nodes:
        return all(_is_node(procfs.file_of(process, node)) for node in promised.nodes)
    if not promised.variables:
        return None
    try:
        environment = (procfs.root / str(process.pid) / "environ").read_bytes()
    except OSError:
        return None
    there = {one.decode(errors="replace") for one in environment.split(b"\0")}
    return promised.variables <= there


def gpu_nodes(procfs: Procfs, process: Process) -> Iterator[str]:
    """Yield the GPUs' nodes in a container; none for a privileged one, which sees all anyway."""
    if _is_node(procfs.file_of(process, SEEN_BY_PRIVILEGED_ONLY)):
        return
    try:
        entries = sorted(procfs.file_of(process, "/dev").iterdir())
    except OSError:
        return
    for entry in entries:
        if GPU_NODE.fullmatch(entry.name) and _is_node(entry):
            yield f"/dev/{entry.name}"


def not_promised(nodes: Iterable[str], promises: Iterable[Promised]) -> tuple[str, ...]:
    """Return the nodes that no claim of the pod gives."""
    given = {node for promised in promises for node in promised.nodes}
    return tuple(node for node in nodes if node not in given)


def _is_node(path: Path) -> bool:
    try:
        return stat.S_ISCHR(path.lstat().st_mode)
    except OSError:
        return False
