"""The agent's Node: what its kubelet is, whether a device plugin is there, and Events about it."""

from dataclasses import dataclass

import structlog

from nodeagent.config import Config
from nodeagent.fields import FieldError, JsonObject
from nodeagent.kube.errors import ForbiddenError, KubeError, NotFoundError
from nodeagent.kube.events import beside_device_plugin, kubelet_deadlocks
from nodeagent.kube.resources import Resources
from nodeagent.kubelet.device_plugins import device_plugins_of
from nodeagent.kubelet.version import KubeletVersion

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class OwnNode:
    """An API server that is away never keeps the agent from starting."""

    resources: Resources
    config: Config

    def kubelet(self) -> KubeletVersion:
        """Return the version of this node's kubelet, an empty one if it cannot be had."""
        try:
            return KubeletVersion.of(self.resources.node(self.config.node_name))
        except (FieldError, KubeError) as error:
            log.warning("version of kubelet not known", reason=str(error))
            return KubeletVersion("", None)

    def device_plugins(self) -> str | None:
        """Say what shows a device plugin for the same GPUs, unless that is to be ignored.

        Raises:
            KubeError: the API server does not answer.

        """
        if self.config.ignores_device_plugins or self.config.profile is not None:
            return None
        try:
            node = self.resources.node(self.config.node_name)
        except (ForbiddenError, NotFoundError):
            # It will not be answered later either: then kubelet's directory has to do.
            node = None
        try:
            return device_plugins_of(node, self.config.kubelet_root)
        except FieldError as error:
            log.warning("device plugins not known", reason=str(error))
            return None

    def warn_of(self, kubelet: KubeletVersion) -> None:
        """Say that this kubelet will make pods hang, if it will."""
        if kubelet.deadlocks_when_idle:
            log.error("kubelet stops calling plugins: upgrade it", version=kubelet.text)
            self.record(kubelet_deadlocks(self.config.node_name, version=kubelet.text))

    def warn_of_plugin(self, found: str) -> None:
        """Say on the Node why it has no devices."""
        self.record(beside_device_plugin(self.config.node_name, found=found))

    def record(self, event: JsonObject) -> None:
        """Record an Event about the Node; it is of use, not of need."""
        try:
            self.resources.create_event(event, namespace="default")
        except KubeError as error:
            log.warning("event not recorded", reason=str(error))
