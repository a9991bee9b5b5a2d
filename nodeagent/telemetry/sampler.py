"""The thread that owns the GPU reader: it discovers at start and each minute, and reads at 1 Hz.

Nothing else touches the reader, and nothing waits for it: a driver that hangs stops the readings
and leaves kubelet's calls and the slices alone (node-agent.md 0.2). Whoever needs devices or
readings takes what was found last.
"""

import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Final

import structlog

from nodeagent.devices.errors import DriverTimeoutError, NoDriverError
from nodeagent.devices.model import GpuReader, Inventory, Reading
from nodeagent.telemetry.details import DetailsLook
from nodeagent.telemetry.measures import DEVICES
from nodeagent.telemetry.messages import Sample

log = structlog.get_logger()

SAMPLE_SECONDS: Final = 1.0
RESCAN_SECONDS: Final = 60.0
RETRY_SECONDS: Final = (1.0, 2.0, 5.0, 10.0, 30.0)
"""Between attempts to find a driver; the last one from then on."""


class Sampler:
    """Devices and readings of one node, as of the last look."""

    def __init__(
        self,
        reader: GpuReader,
        *,
        details: DetailsLook,
        on_inventory: Callable[[Inventory], None],
        on_sample: Callable[[Sample], None],
    ) -> None:
        self._reader = reader
        self._details = details
        self._on_inventory = on_inventory
        self._on_sample = on_sample
        self._stopping = threading.Event()
        self._inventory: Inventory | None = None
        self._readings: Mapping[str, Reading] = MappingProxyType({})
        self._absence: str | None = None
        self.has_looked = threading.Event()
        """Set after the first attempt to discover, whatever came of it."""

    def inventory(self) -> Inventory | None:
        """Return the devices; `None` before the first look, empty without a driver."""
        return self._inventory

    def readings(self) -> Mapping[str, Reading]:
        """Return the latest readings by device name; empty without a driver."""
        return self._readings

    def absence(self) -> str | None:
        """Return why there is no driver; `None` while there is one, even if it does not answer."""
        return self._absence

    def stop(self) -> None:
        """End the thread at its next turn."""
        self._stopping.set()

    def run(self) -> None:
        """Look and read until stopped. Runs in the thread that owns the reader.

        Raises:
            DriverChangedError: only a new process can load the new driver's library.

        """
        failures = 0
        try:
            while not self._stopping.is_set():
                try:
                    self._discover()
                    failures = 0
                    self._read_for(RESCAN_SECONDS)
                except NoDriverError as error:
                    self._without_driver(error, is_news=failures == 0)
                    self._stopping.wait(RETRY_SECONDS[min(failures, len(RETRY_SECONDS) - 1)])
                    failures += 1
                except DriverTimeoutError as error:
                    self._without_answer(error, is_news=failures == 0)
                    self._stopping.wait(RETRY_SECONDS[min(failures, len(RETRY_SECONDS) - 1)])
                    failures += 1
        finally:
            self._reader.close()

    def _discover(self) -> None:
        found = Inventory.of(self._reader.discover(), source=self._reader.source)
        self._absence = None
        if found != self._inventory:
            log.info("devices discovered", count=len(found.devices), source=found.source.value)
            self._inventory = found
            self._on_inventory(found)
        self.has_looked.set()

    def _read_for(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        due = time.monotonic()
        while due < until:
            readings = self._reader.read()
            self._readings = MappingProxyType({reading.device: reading for reading in readings})
            taken_at = datetime.now(UTC)
            sample = Sample(taken_at, readings, self._details.current())
            DEVICES.show(sample)
            self._on_sample(sample)
            # A slow read skips turns instead of bunching them.
            due = max(due + SAMPLE_SECONDS, time.monotonic())
            if self._stopping.wait(due - time.monotonic()):
                return

    def _without_answer(self, error: DriverTimeoutError, *, is_news: bool) -> None:
        if is_news:
            log.error("gpu driver does not answer", reason=str(error))
        self._forget_readings()
        self.has_looked.set()

    def _without_driver(self, error: NoDriverError, *, is_news: bool) -> None:
        if is_news:
            log.error("no gpu driver", reason=str(error))
        self._absence = str(error)
        self._reader.close()
        self._forget_readings()
        if self._inventory is None:
            # An empty pool says that the agent is up; devices that were known stay: their
            # claims are on the node, driver or not.
            self._inventory = Inventory((), self._reader.source)
            self._on_inventory(self._inventory)
        self.has_looked.set()

    def _forget_readings(self) -> None:
        # Old ones would look like new ones.
        DEVICES.show(None)
        self._readings = MappingProxyType({})
        self._details.forget()
