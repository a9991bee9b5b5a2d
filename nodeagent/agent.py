"""One agent from start to stop: which part exists when, and on which thread it runs.

The order of the start is the point (node-agent.md 0.3): what kubelet may ask about is in place
before the registration socket makes it ask. The parts do not wait for one another afterwards;
they share the last inventory, the last readings and the checkpoint's last state.
"""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import structlog

from nodeagent.cdi.store import CdiStore
from nodeagent.claims.abandoned import Abandonment
from nodeagent.claims.device_status import DeviceStatus
from nodeagent.claims.effects import Effects
from nodeagent.claims.entry import State
from nodeagent.claims.execution import Execution
from nodeagent.claims.injection import Injection
from nodeagent.claims.ledger import Ledger
from nodeagent.claims.preparer import Preparer
from nodeagent.config import Config
from nodeagent.devices.model import Inventory
from nodeagent.gpus import gpus_to_serve
from nodeagent.health.assess import Policy
from nodeagent.health.report import HealthReport, Reports
from nodeagent.health.state_file import StateFile
from nodeagent.health.watcher import Known, Watcher
from nodeagent.keeper import Keeper
from nodeagent.kube.client import Client
from nodeagent.kube.resources import Resources
from nodeagent.kubelet.presence import Presence
from nodeagent.kubelet.sockets import SocketPaths
from nodeagent.linking import link_of
from nodeagent.offering import Offering
from nodeagent.own_node import OwnNode
from nodeagent.preparing import describing_of, edits_of, mps_of
from nodeagent.publish.publisher import Publisher
from nodeagent.starting import alone, check_char_links, make_directories, recover_claims
from nodeagent.telemetry.details import DetailsLook
from nodeagent.telemetry.outbox import Outbox
from nodeagent.telemetry.sampler import Sampler
from nodeagent.threads import Threads
from nodeagent.usage.watch import UsageWatch

log = structlog.get_logger()

BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")
FIRST_LOOK_SECONDS: Final = 20
"""How long the start waits for the GPUs; a driver that hangs must not keep claims waiting."""

PARALLEL_READS: Final = 8


class Agent:
    """The parts of one agent, made but not started."""

    def __init__(self, config: Config, *, client: Client, boot_id: str) -> None:
        """Make the agent's directories and parts.

        Raises:
            KubeletError: a socket path is too long.
            OSError: a directory cannot be made.

        """
        self._config = config
        pool = config.node_name
        make_directories(config)
        self._threads = Threads()
        self._resources = Resources(client, driver=config.driver, node_name=config.node_name)
        self._node = OwnNode(self._resources, config)
        self._kubelet = self._node.kubelet()
        self._pod_uid = config.pod_uid if self._kubelet.takes_rolling_updates else None
        if self._pod_uid != config.pod_uid:
            log.warning("kubelet takes no rolling updates", version=self._kubelet.text)
        paths = SocketPaths.under(
            registry_directory=config.registry_directory,
            plugin_directory=config.plugin_directory,
            driver=config.driver,
            pod_uid=self._pod_uid,
        )
        self._ledger = Ledger(config.plugin_directory, boot_id=boot_id)
        self._publisher = Publisher(
            self._resources,
            driver=config.driver,
            node_name=config.node_name,
            pool=pool,
            shares=config.shares,
            with_serials=config.publishes_serials,
        )
        self._outbox = Outbox()
        self._offering = Offering(
            publish=lambda inventory, report: self._publisher.offer(inventory, report.taints),
            device_plugins=self._node.device_plugins,
            record=self._node.warn_of_plugin,
        )
        reader = gpus_to_serve(config, boot_id=boot_id, prepared_devices=self._prepared_devices)
        self._sampler = Sampler(
            reader,
            details=DetailsLook(reader),
            on_inventory=self._take_inventory,
            on_sample=self._outbox.offer,
        )
        self._reports = Reports()
        self._watcher = Watcher(
            signs=reader,
            known=Known(
                inventory=self._sampler.inventory,
                absence=self._sampler.absence,
                entries=lambda: self._ledger.entries,
            ),
            policy=Policy(
                driver=config.driver,
                fatal_effect=config.fatal_effect,
                application_xids=config.application_xids,
            ),
            kept=StateFile(config.plugin_directory / "health.json", boot_id),
            reports=self._reports,
            on_taints=self._take_taints,
        )
        self._injection = Injection(CdiStore(config.cdi_directory, config.driver), edits_of(config))
        abandonment = Abandonment(self._resources, self._sampler.readings, self._sampler.inventory)
        self._execution = Execution(
            ledger=self._ledger,
            injection=self._injection,
            describing=describing_of(config),
            effects=Effects(control=reader, mps=mps_of(config)),
            inventory=self._sampler.inventory,
        )
        preparer = Preparer(
            execution=self._execution,
            reader=self._resources,
            read_pool=ThreadPoolExecutor(PARALLEL_READS, thread_name_prefix="claim-read"),
            is_abandoned=abandonment.is_abandoned,
            driver=config.driver,
            pool=pool,
            offered=config.offered_sharing,
        )
        self._usage = UsageWatch.of(
            reader,
            reader=self._resources,
            entries=lambda: self._ledger.entries,
            file_of=self._injection.store.path_of,
        )
        self._presence = Presence.of(
            config.driver,
            paths=paths,
            pool=pool,
            preparer=preparer,
            reports=self._reports,
            on_registered=self._publisher.check_now,
            health_port=config.health_port,
        )
        self._keeper = Keeper(preparer, abandonment=abandonment)
        self._status = DeviceStatus(
            self._resources, lambda: self._ledger.entries, driver=config.driver
        )
        self._link = link_of(
            config,
            source=reader.source,
            boot_id=boot_id,
            outbox=self._outbox,
            ledger=self._ledger,
            reports=self._reports,
        )

    def run(self) -> None:
        """Serve until `stop` is called.

        Raises:
            LockTimeoutError: another agent has the node to itself, or holds the claims.
            KubeletError: the sockets cannot be bound.
            Exception: a part that the agent cannot do without has failed.

        """
        with alone(self._config, pod_uid=self._pod_uid):
            try:
                self._start()
                self._threads.wait()
            finally:
                self._end()
        self._threads.raise_failure()

    def stop(self) -> None:
        """Have `run` return; callable from a signal handler."""
        self._threads.stop()

    def _start(self) -> None:
        begin = self._threads.begin
        self._ledger.on_change(self._outbox.note_claims)
        self._offering.look()
        begin("sampler", self._sampler.run)
        if not self._sampler.has_looked.wait(FIRST_LOOK_SECONDS):
            log.warning("gpus not found yet", seconds=FIRST_LOOK_SECONDS)
        inventory = self._sampler.inventory()
        begin("health", self._watcher.run)
        recover_claims(self._execution, self._resources, self._node, self._config)
        self._keeper.repair(inventory)
        check_char_links(self._injection, inventory, self._config)
        self._presence.start(begin)
        begin("slices-follow", self._publisher.follow)
        begin("slices-write", self._publisher.write)
        begin("offering", lambda: self._offering.run(self._watcher.look))
        begin("keeper", self._keeper.run)
        begin("usage", self._usage.run)
        if self._config.tells_device_status:
            self._ledger.on_change(self._status.look_again)
            begin("device-status", self._status.run)
        if self._link is not None:
            begin("console-link", self._link.run)
        self._node.warn_of(self._kubelet)
        log.info("agent started", node=self._config.node_name, driver=self._config.driver)

    def _end(self) -> None:
        log.info("agent stopping")
        # First: kubelet's health streams end with it, and the successor's word counts.
        self._watcher.stop()
        self._offering.stop()
        self._publisher.stop()
        self._presence.stop()
        self._keeper.stop()
        self._usage.stop()
        self._sampler.stop()
        self._status.stop()
        if self._link is not None:
            self._link.stop()

    def _take_inventory(self, inventory: Inventory) -> None:
        # With their taints from the first moment on: a device that is known to be sick is not
        # to be offered for the seconds until the next look.
        self._offering.take(inventory, self._watcher.look())

    def _take_taints(self, report: HealthReport) -> None:
        self._publisher.offer_taints(report.taints)

    def _prepared_devices(self) -> frozenset[str]:
        entries = self._ledger.entries.values()
        return frozenset(
            device.device
            for entry in entries
            if entry.state is State.COMPLETED
            for device in entry.devices
            if not device.admin_access
        )


def read_boot_id() -> str:
    """Return what the kernel calls this boot."""
    return BOOT_ID.read_text().strip()
