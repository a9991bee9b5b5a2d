"""An agent that only watches: live state of GPUs that another vendor's driver serves.

It has no kubelet plugin, no slices and no claims, asks the API server for nothing, changes no
hardware and writes nothing on the node. The console finds out by their UUIDs which published
devices its readings are of.
"""

import threading
from collections.abc import Callable
from typing import Final

import structlog

from nodeagent.config import Config
from nodeagent.devices.model import GpuReader, Inventory
from nodeagent.devices.settings import MigPolicy, Settings
from nodeagent.devices.simulated import SimulatedGpus
from nodeagent.devices.worker.proxy import WorkerGpus
from nodeagent.telemetry.link import Link
from nodeagent.telemetry.messages import Identity, Naming
from nodeagent.telemetry.outbox import Outbox
from nodeagent.telemetry.sampler import Sampler

log = structlog.get_logger()

END_SECONDS: Final = 5
"""For the driver's worker, whose library must not stay loaded when this process is replaced."""


class Observer:
    """Reads and tells, until it is stopped."""

    def __init__(self, config: Config, *, boot_id: str) -> None:
        """Make the parts; `config` names a console."""
        if config.console_url is None or config.console_token_file is None:
            raise ValueError("an observer needs a console")
        reader = _reader(config)
        outbox = Outbox()
        self._sampler = Sampler(reader, on_inventory=_note, on_sample=outbox.offer)
        self._link = Link(
            config.console_url,
            token_file=config.console_token_file,
            identity=Identity(
                node_name=config.node_name,
                driver=config.driver,
                pool=config.node_name,
                source=reader.source,
                boot_id=boot_id,
                naming=Naming.UUID,
            ),
            outbox=outbox,
            ledger=None,
        )
        self._stopping = threading.Event()
        self._failure: BaseException | None = None

    def run(self) -> None:
        """Watch until `stop` is called.

        Raises:
            Exception: a part has failed.

        """
        parts = [self._begin(one) for one in (self._sampler.run, self._link.run)]
        log.info("observer started")
        self._stopping.wait()
        self._sampler.stop()
        self._link.stop()
        for part in parts:
            part.join(END_SECONDS)
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        """Have `run` return; callable from a signal handler."""
        self._stopping.set()

    def _begin(self, run: Callable[[], None]) -> threading.Thread:
        def guarded() -> None:
            try:
                run()
            except Exception as error:
                log.exception("part failed")
                self._failure = error
                self._stopping.set()

        thread = threading.Thread(target=guarded, daemon=True)
        thread.start()
        return thread


def _reader(config: Config) -> GpuReader:
    if config.profile is not None:
        return SimulatedGpus(config.profile, config.node_name, prepared_devices=frozenset)
    # Whoever made partitions: those that exist are read.
    settings = Settings.under(config.driver_root.mounted, mig=MigPolicy.STATIC, only_reads=True)
    return WorkerGpus(settings)


def _note(inventory: Inventory) -> None:
    log.info("devices watched", devices=[device.name for device in inventory.devices])
