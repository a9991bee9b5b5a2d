"""Looks at the containers of prepared claims, and says what they lack or have too much of.

Each thing is said once. A pod may run only its first containers yet, which have no device; so a
device that is missing counts only after several looks, and never again once the runtime was seen
to do its part for any claim.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import prometheus_client
import structlog

from nodeagent.claims.entry import Entry, State
from nodeagent.usage.claim_pods import ClaimPods
from nodeagent.usage.injected import (
    Promised,
    gpu_nodes,
    has_got,
    not_promised,
    processes_by_container,
)
from nodeagent.usage.permission import CGROUPS, group_of, may_open
from nodeagent.usage.procfs import Process, Procfs

log = structlog.get_logger()

LOOKS: Final = 3
"""So many in a row without the device are no start-up any more."""

TROUBLE: Final = prometheus_client.Counter(
    "dra_nodeagent_containers_in_trouble_total",
    "Containers without, or with too many, devices: cdi-ignored, legacy-runtime, lost-nodes",
    ["trouble"],
)


@dataclass(slots=True)
class Containers:
    """Remembers what it has seen of which container."""

    entries: Callable[[], Mapping[str, Entry]]
    file_of: Callable[[str], Path]
    """Where a claim's CDI file is, by the claim's UID."""

    pods: ClaimPods
    procfs: Procfs = field(default_factory=Procfs)
    cgroups: Path = CGROUPS
    runtime_does_cdi: bool | None = field(default=None, init=False)
    """`None` until a container of a prepared claim has shown it."""

    _without: dict[tuple[str, str], int] = field(default_factory=dict, init=False)
    _told: set[tuple[str, str]] = field(default_factory=set, init=False)

    def look(self) -> None:
        """Look once at every container of every prepared claim."""
        prepared = {
            entry.uid: promised
            for entry in self._completed()
            if (promised := Promised.by_file(self.file_of(entry.uid))) is not None
        }
        alive: set[str] = set()
        claims_by_pod = self._claims_by_pod()
        running = processes_by_container(self.procfs, claims_by_pod.keys())
        for pod_uid, claims in claims_by_pod.items():
            promises = {uid: prepared[uid] for uid in claims if uid in prepared}
            containers = running.get(pod_uid, {})
            alive.update((pod_uid, *containers))
            if not containers or len(promises) < len(claims):
                continue
            for uid, promised in promises.items():
                self._check_injected(uid, pod_uid, promised, containers)
            for container, process in containers.items():
                self._check_surplus(pod_uid, container, process, promises)
                self._check_permission(pod_uid, container, process, promises)
        self._told = {one for one in self._told if one[1] in alive}
        self._without = {key: looks for key, looks in self._without.items() if key[1] in alive}

    def _completed(self) -> Iterator[Entry]:
        for entry in self.entries().values():
            if entry.state is State.COMPLETED:
                yield entry

    def _claims_by_pod(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for entry in self._completed():
            for pod_uid in self.pods.of(entry) or ():
                found.setdefault(pod_uid, []).append(entry.uid)
        return found

    def _check_injected(
        self, uid: str, pod_uid: str, promised: Promised, containers: Mapping[str, Process]
    ) -> None:
        if self.runtime_does_cdi:
            return
        results = {has_got(self.procfs, process, promised) for process in containers.values()}
        if True in results:
            self.runtime_does_cdi = True
            log.info("containers get their devices: the runtime does CDI", pod_uid=pod_uid)
        elif False in results:
            looks = self._without[uid, pod_uid] = self._without.get((uid, pod_uid), 0) + 1
            if looks >= LOOKS and self._is_news("cdi-ignored", pod_uid):
                self.runtime_does_cdi = False
                log.error(
                    "runtime ignores CDI: no container of a pod has its claim's devices",
                    pod_uid=pod_uid,
                    claim_uid=uid,
                    ask="does containerd have enable_cdi, and this CDI directory in cdi_spec_dirs?",
                )

    def _check_surplus(
        self, pod_uid: str, container: str, process: Process, promises: Mapping[str, Promised]
    ) -> None:
        if not any(promised.host_nodes for promised in promises.values()):
            return
        surplus = not_promised(gpu_nodes(self.procfs, process), promises.values())
        if surplus and self._is_news("legacy-runtime", container):
            log.warning(
                "a container has GPUs that its claims do not hold",
                pod_uid=pod_uid,
                container=container,
                nodes=surplus,
                ask="is nvidia, or its legacy hook, the runtime for every container here?",
            )

    def _check_permission(
        self, pod_uid: str, container: str, process: Process, promises: Mapping[str, Promised]
    ) -> None:
        if ("lost-nodes", container) in self._told:
            return
        nodes = {node for promised in promises.values() for node in promised.host_nodes}
        has_all = all(has_got(self.procfs, process, promised) for promised in promises.values())
        if not nodes or not has_all:
            return
        try:
            cgroup = (self.procfs.root / str(process.pid) / "cgroup").read_text()
        except OSError:
            return
        group = group_of(cgroup, mounted=self.cgroups)
        if group is None or not self.procfs.is_still(process):
            return
        lost = sorted(node for node in nodes if may_open(group, node) is False)
        if lost and self._is_news("lost-nodes", container):
            log.error(
                "a container may not open its devices any more: delete the pod",
                pod_uid=pod_uid,
                container=container,
                nodes=lost,
                reason="systemd was reloaded; see --create-dev-char-links",
            )

    def _is_news(self, trouble: str, of: str) -> bool:
        if (trouble, of) in self._told:
            return False
        self._told.add((trouble, of))
        TROUBLE.labels(trouble).inc()
        return True
