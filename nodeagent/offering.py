"""What is published of the node: its devices with their taints, or nothing beside a device plugin.

GPUs that a device plugin has as well would go to two pods, so none is offered until the plugin is
gone (node-agent.md 8, fault 52).
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import prometheus_client
import structlog

from nodeagent.devices.model import Inventory
from nodeagent.health.report import HealthReport
from nodeagent.kube.errors import KubeError

log = structlog.get_logger()

LOOK_SECONDS: Final = 60.0
RETRY_SECONDS: Final = 5.0
"""While the API server does not answer, so that nothing can be published anyway."""

CONFLICT: Final = prometheus_client.Gauge(
    "dra_nodeagent_device_plugin_conflict",
    "1 while nothing is published because a device plugin offers the same GPUs",
)


@dataclass(slots=True)
class Offering:
    """Stands between the devices and the publisher. Safe between threads."""

    publish: Callable[[Inventory, HealthReport], None]
    device_plugins: Callable[[], str | None]
    """Says what shows a device plugin for the same GPUs; asks the API server, and raises
    `KubeError` if that does not answer.
    """

    record: Callable[[str], None]
    """Records a conflict as an Event."""

    _inventory: Inventory | None = field(default=None, init=False)
    _conflict: str | None = field(default=None, init=False)
    _is_known: bool = field(default=False, init=False)
    _changing: threading.Lock = field(default_factory=threading.Lock, init=False)
    _stopping: threading.Event = field(default_factory=threading.Event, init=False)

    def look(self) -> None:
        """Find out whether there is a device plugin; the first time before anything is taken."""
        try:
            conflict = self.device_plugins()
        except KubeError as error:
            log.warning("not known whether there is a device plugin", reason=str(error))
            return
        self._is_known = True
        if conflict is not None and self._conflict is None:
            log.error("nothing is published beside a device plugin", found=conflict)
            self.record(conflict)
        elif conflict is None and self._conflict is not None:
            log.info("the device plugin is gone")
        self._conflict = conflict
        CONFLICT.set(conflict is not None)

    def take(self, inventory: Inventory, report: HealthReport) -> None:
        """Publish the devices as they were just found, with their taints from the first moment.

        Before anything is known of a device plugin nothing is published, not even an empty pool:
        slices of an earlier run stay as they are.
        """
        with self._changing:
            self._inventory = inventory
            if not self._is_known:
                return
            offered = inventory if self._conflict is None else Inventory((), inventory.source)
            self.publish(offered, report)

    def run(self, report: Callable[[], HealthReport]) -> None:
        """Publish the devices as soon as there is no plugin. Ends once that is so."""
        while not self._is_known or self._conflict is not None:
            if self._stopping.wait(LOOK_SECONDS if self._is_known else RETRY_SECONDS):
                return
            self.look()
            if self._inventory is not None:
                self.take(self._inventory, report())

    def stop(self) -> None:
        """End the thread at its next turn."""
        self._stopping.set()
