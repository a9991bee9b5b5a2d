"""Which pod and container a process belongs to, by the path of its control group (pure).

Kubelet names a pod's group after its UID and a container's after its id, in the spelling of the
cgroup driver: systemd (`kubepods-burstable-pod0a1b_..._9.slice/cri-containerd-<id>.scope`) or
cgroupfs (`kubepods/burstable/pod0a1b-...-9/<id>`). What stands before varies: kubelets inside
containers, slices of their own. So the path is searched, not anchored (node-agent.md 6.9).
"""

import re
from dataclasses import dataclass
from typing import Final

POD: Final = re.compile(
    r"(?:^|-)pod(?P<uid>[0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}|[0-9a-f]{32})(?:\.slice)?"
)
"""A pod's UID; static pods have 32 digits without dashes."""

CONTAINER: Final = re.compile(r"(?:(?P<runtime>[a-z][a-z-]*)-)?(?P<id>[0-9a-f]{64})(?:\.scope)?")
SEPARATORS: Final = re.compile("[/:]")
NO_CONTAINER: Final = frozenset({"crio-conmon"})
"""Helpers of a runtime that sit beside a container, under its id."""

PREFERRED_V1: Final = ("name=systemd", "memory", "pids", "devices")
"""Controllers of version 1 in which kubelet and runtimes make groups; others may be unused."""


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose a process is."""

    pod_uid: str
    """As the API writes it: with dashes, but for static pods."""

    container_id: str | None
    """64 digits; `None` for the pod's own processes and helpers of the runtime."""


def owner_of(cgroup: str) -> Owner | None:
    """Read the content of `/proc/<pid>/cgroup`; `None` for a process of no pod.

    The last pod of a path counts: a node that is itself a pod (kind in Kubernetes) has two.
    """
    for path in _paths(cgroup):
        owner = _owner_in(path)
        if owner is not None:
            return owner
    return None


def is_hidden(cgroup: str) -> bool:
    """Tell whether the group lies outside this process's own cgroup namespace.

    Then paths say nothing: the agent needs the host's namespace.
    """
    return any(path.startswith("/..") for path in _paths(cgroup))


def _paths(cgroup: str) -> list[str]:
    """Return the paths that may name a pod, version 1's best first, then version 2's."""
    by_controller: dict[str, str] = {}
    unified = []
    for line in cgroup.splitlines():
        number, _, rest = line.partition(":")
        controllers, colon, path = rest.partition(":")
        if not number.isdigit() or not colon:
            continue
        if controllers:
            by_controller.update(dict.fromkeys(controllers.split(","), path))
        else:
            unified.append(path)
    preferred = [by_controller.pop(name) for name in PREFERRED_V1 if name in by_controller]
    return list(dict.fromkeys([*preferred, *unified, *by_controller.values()]))


def _owner_in(path: str) -> Owner | None:
    # `slice:prefix:id` is systemd's spelling, taken for a path by a runtime that does not use it.
    parts = SEPARATORS.split(path.strip("/"))
    for index in reversed(range(len(parts))):
        pod = POD.search(parts[index])
        if pod is not None and pod.end() == len(parts[index]):
            return Owner(_spelled(pod["uid"]), _container_in(parts[index + 1 :]))
    return None


def _container_in(parts: list[str]) -> str | None:
    for part in parts:
        found = CONTAINER.fullmatch(part)
        if found is not None:
            return None if found["runtime"] in NO_CONTAINER else found["id"]
    return None


def _spelled(uid: str) -> str:
    return uid.replace("_", "-")
