"""What one cluster shall be like; the default is what Kubernetes itself starts with."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

RESOURCE_GROUP: Final = "resource.k8s.io"
RESOURCE_VERSIONS: Final = ("v1", "v1beta2", "v1beta1", "v1alpha3")
"""What Kubernetes 1.37 can serve of resource.k8s.io, newest first."""

EVERY_CONTROLLER: Final = ("*",)


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """Somebody with a bearer token that the API server knows from its start."""

    name: str
    token: str
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterOptions:
    """Which processes run, and with what; `Cluster` says how each is used."""

    resource_versions: tuple[str, ...] = ("v1", "v1beta2", "v1beta1")
    """The served versions of resource.k8s.io. All others are switched off."""

    feature_gates: Mapping[str, bool] = field(default_factory=dict)
    """Given to every Kubernetes process."""

    admission_on: tuple[str, ...] = ()
    admission_off: tuple[str, ...] = ()
    """Admission plugins beside the default ones, and without."""

    controllers: tuple[str, ...] | None = None
    """The controller manager's list, as in `("*", "-node-lifecycle-controller")`; `None`: no
    controller manager. Without one nobody makes service accounts, so the admission plugin that
    asks for them is off as well."""

    scheduler: bool = False
    node: bool = False
    """One real node: containerd, runc and kubelet. Needs root; brings controllers and scheduler."""

    usual_paths: bool = False
    """Whether that node's kubelet and container runtime have the directories that deployments
    expect: `/var/lib/kubelet` and `/var/run/cdi`. By default others, that all see alike."""

    watch_cache: bool = True
    """Off: every watch reads etcd itself, so that a compaction shows at once."""

    users: tuple[User, ...] = ()
    scheduler_configuration: Mapping[str, object] | None = None
    """Fields of a KubeSchedulerConfiguration: profiles, say. Who it is to the API server and how
    it is found are the rig's."""

    apiserver_flags: tuple[str, ...] = ()
    controller_flags: tuple[str, ...] = ()
    scheduler_flags: tuple[str, ...] = ()
    """More flags for kube-apiserver, kube-controller-manager and kube-scheduler, last, so that
    they win."""

    def __post_init__(self) -> None:
        unknown = set(self.resource_versions) - set(RESOURCE_VERSIONS)
        if unknown:
            raise ValueError(f"{RESOURCE_GROUP} has no version {', '.join(sorted(unknown))}")

        if self.node and "v1" not in self.resource_versions:
            raise ValueError("a real node needs v1: kubelet and what serves it know no other")

    @property
    def runs_controllers(self) -> bool:
        """Whether there is a controller manager; a node is not Ready without one."""
        return self.controllers is not None or self.node

    @property
    def runs_scheduler(self) -> bool:
        """Whether there is a scheduler."""
        return self.scheduler or self.node

    @property
    def runtime_config(self) -> str:
        """The value of kube-apiserver's `--runtime-config`."""
        return ",".join(
            f"{RESOURCE_GROUP}/{version}={str(version in self.resource_versions).lower()}"
            for version in RESOURCE_VERSIONS
        )

    @property
    def gates(self) -> list[str]:
        """The flag for feature gates, if any is set."""
        if not self.feature_gates:
            return []
        text = ",".join(f"{name}={str(on).lower()}" for name, on in self.feature_gates.items())
        return [f"--feature-gates={text}"]
