"""An agent that only watches: live state and health of GPUs that another vendor's driver serves.

It has no kubelet plugin, no slices and no claims, asks the API server for nothing, changes no
hardware and writes nothing on the node. The console finds out by their UUIDs which published
devices its readings are of.
"""

from typing import Final

import structlog

from nodeagent.config import Config
from nodeagent.devices.model import Inventory
from nodeagent.gpus import gpus_to_watch, signs_to_watch
from nodeagent.health.assess import Policy
from nodeagent.health.report import HealthReport, Reports
from nodeagent.health.state_file import Unkept
from nodeagent.health.watcher import Known, Watcher
from nodeagent.kubelet.liveness import Liveness
from nodeagent.linking import link_of
from nodeagent.telemetry.details import DetailsLook
from nodeagent.telemetry.outbox import Outbox
from nodeagent.telemetry.sampler import Sampler
from nodeagent.threads import Threads

log = structlog.get_logger()

END_SECONDS: Final = 5
"""For the driver's worker, whose library must not stay loaded when this process is replaced."""


class Observer:
    """Reads and tells, until it is stopped."""

    def __init__(self, config: Config, *, boot_id: str) -> None:
        """Make the parts; `config` names a console."""
        reader = gpus_to_watch(config)
        outbox = Outbox()
        self._sampler = Sampler(
            reader, details=DetailsLook(reader), on_inventory=_note, on_sample=outbox.offer
        )
        reports = Reports()
        self._watcher = Watcher(
            signs=signs_to_watch(reader, self._sampler.inventory),
            known=Known(
                inventory=self._sampler.inventory, absence=self._sampler.absence, entries=dict
            ),
            policy=Policy(driver=config.driver, application_xids=config.application_xids),
            kept=Unkept(),
            reports=reports,
            on_taints=_keep_to_itself,
        )
        link = link_of(
            config, source=reader.source, boot_id=boot_id, outbox=outbox, reports=reports
        )
        if link is None:
            raise ValueError("an observer needs a console")
        self._link = link
        self._liveness = Liveness(None, config.health_port)
        self._threads = Threads()

    def run(self) -> None:
        """Watch until `stop` is called.

        Raises:
            KubeletError: the port for probes is taken.
            Exception: a part has failed.

        """
        self._liveness.start()
        parts = [
            self._threads.begin("sampler", self._sampler.run),
            self._threads.begin("health", self._watcher.run),
            self._threads.begin("console-link", self._link.run),
        ]
        log.info("observer started")
        self._threads.wait()
        self._liveness.stop()
        self._watcher.stop()
        self._sampler.stop()
        self._link.stop()
        for part in parts:
            part.join(END_SECONDS)
        self._threads.raise_failure()

    def stop(self) -> None:
        """Have `run` return; callable from a signal handler."""
        self._threads.stop()


def _note(inventory: Inventory) -> None:
    log.info("devices watched", devices=[device.name for device in inventory.devices])


def _keep_to_itself(report: HealthReport) -> None:
    """Taint nothing: the devices are another driver's. The console is told of the report."""
    del report
