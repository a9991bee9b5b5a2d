"""When the kubelet deletes the ResourceSlices of its node (`node-agent.md` 4.8).

At its start it deletes all of them, since it cannot know which drivers are left; later it
deletes a driver's some time after the last connection to it was lost.
"""

import asyncio
from dataclasses import dataclass, field

import structlog

from dra_console.devcluster.fields import inside
from dra_console.devcluster.store import Store
from dra_console.kube.kinds import RESOURCE_SLICES

log = structlog.get_logger()


@dataclass(slots=True)
class SliceWipe:
    """The timers of the lost drivers of one node. Needs a running event loop."""

    store: Store
    node_name: str
    delay_seconds: float
    _timers: dict[str, asyncio.TimerHandle] = field(default_factory=dict)

    def wipe_all(self) -> None:
        """Delete the slices of every driver of the node."""
        self._delete(driver=None)

    def lost(self, driver: str) -> None:
        """Start a driver's timer, unless it runs."""
        if driver not in self._timers:
            loop = asyncio.get_running_loop()
            self._timers[driver] = loop.call_later(self.delay_seconds, self._expire, driver)

    def found(self, driver: str) -> None:
        """Stop a driver's timer: it is connected again."""
        timer = self._timers.pop(driver, None)
        if timer is not None:
            timer.cancel()

    def stop(self) -> None:
        """Stop all timers; nothing is deleted."""
        for driver in tuple(self._timers):
            self.found(driver)

    def _expire(self, driver: str) -> None:
        del self._timers[driver]
        self._delete(driver=driver)

    def _delete(self, *, driver: str | None) -> None:
        """Delete the slices of the node, of one driver or (`None`) of all."""
        for stored in self.store.at(self.store.resource_version, RESOURCE_SLICES, namespace=None):
            spec = inside(stored.value, "spec")
            if spec.text("nodeName") == self.node_name and driver in {None, spec.text("driver")}:
                self.store.delete(RESOURCE_SLICES, "", stored.name)
                log.info("slice deleted", node=self.node_name, slice=stored.name, driver=driver)
