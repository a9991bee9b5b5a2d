"""One agent from start to stop: which part exists when, and on which thread it runs.

The order of the start is the point (node-agent.md 0.3): what kubelet may ask about is in place
before the registration socket makes it ask. The parts do not wait for one another afterwards;
they share the last inventory, the last readings and the checkpoint's last state.
"""

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import structlog

from nodeagent.cdi.char_links import CharLinks, nodes_of
from nodeagent.cdi.edits import EditsSource, SimulatedEdits
from nodeagent.cdi.hooks import find_hook, install_hook
from nodeagent.cdi.metadata_files import MetadataFiles
from nodeagent.cdi.nvidia import NvidiaEdits
from nodeagent.cdi.store import CdiStore
from nodeagent.claims.abandoned import Abandonment
from nodeagent.claims.describing import Describing
from nodeagent.claims.device_status import DeviceStatus
from nodeagent.claims.effects import Effects
from nodeagent.claims.entry import State
from nodeagent.claims.errors import LockTimeoutError
from nodeagent.claims.execution import Execution
from nodeagent.claims.injection import Injection
from nodeagent.claims.ledger import Ledger
from nodeagent.claims.lock import locked
from nodeagent.claims.mps import MpsDaemons
from nodeagent.claims.preparer import Preparer
from nodeagent.claims.recovery import Recovered, recover
from nodeagent.config import Config
from nodeagent.devices.model import Device, Inventory, Source
from nodeagent.devices.settings import MigPolicy, Settings
from nodeagent.devices.simulated import SimulatedGpus
from nodeagent.devices.worker.proxy import WorkerGpus
from nodeagent.fields import FieldError, Json, JsonObject
from nodeagent.health.assess import Policy
from nodeagent.health.report import HealthReport, Reports
from nodeagent.health.state_file import StateFile
from nodeagent.health.watcher import Known, Watcher
from nodeagent.keeper import Keeper
from nodeagent.kube.client import Client
from nodeagent.kube.errors import KubeError
from nodeagent.kube.events import checkpoint_corrupted, kubelet_deadlocks
from nodeagent.kube.resources import Resources
from nodeagent.kubelet.presence import Presence
from nodeagent.kubelet.sockets import SocketPaths
from nodeagent.kubelet.version import KubeletVersion
from nodeagent.publish.attributes import attributes_of
from nodeagent.publish.features import Shape
from nodeagent.publish.limits import fitting_attributes
from nodeagent.publish.publisher import Publisher
from nodeagent.telemetry.link import Link
from nodeagent.telemetry.messages import Identity
from nodeagent.telemetry.outbox import Outbox
from nodeagent.telemetry.sampler import Sampler

log = structlog.get_logger()

BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")
PLUGIN_DIRECTORY_MODE: Final = 0o750
CDI_DIRECTORY_MODE: Final = 0o755
PREDECESSOR_SECONDS: Final = 45
"""How long a predecessor may take to finish its running calls."""

FIRST_LOOK_SECONDS: Final = 20
"""How long the start waits for the GPUs; a driver that hangs must not keep claims waiting."""

PARALLEL_READS: Final = 8
PLACE_FOR_UUID: Final = 1
"""Of the attributes that a device may have, left for what only a claim's partition has."""


class Agent:
    """The parts of one agent, made but not started."""

    def __init__(self, config: Config, *, client: Client, boot_id: str) -> None:
        """Make the agent's directories and parts.

        Raises:
            KubeletError: a socket path is too long.
            OSError: a directory cannot be made.

        """
        self._config = config
        self._boot_id = boot_id
        pool = config.node_name
        config.plugin_directory.mkdir(mode=PLUGIN_DIRECTORY_MODE, parents=True, exist_ok=True)
        config.cdi_directory.mkdir(mode=CDI_DIRECTORY_MODE, parents=True, exist_ok=True)
        if config.static_cdi_directory is not None:
            config.static_cdi_directory.mkdir(mode=CDI_DIRECTORY_MODE, parents=True, exist_ok=True)
        self._resources = Resources(client, driver=config.driver, node_name=config.node_name)
        self._kubelet = self._kubelet_version()
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
        )
        self._outbox = Outbox()
        reader = self._reader()
        self._sampler = Sampler(
            reader, on_inventory=self._take_inventory, on_sample=self._outbox.offer
        )
        self._reports = Reports()
        self._watcher = Watcher(
            reader=reader,
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
            state_file=StateFile(config.plugin_directory / "health.json", boot_id),
            reports=self._reports,
            on_taints=self._take_taints,
        )
        self._injection = Injection(CdiStore(config.cdi_directory, config.driver), self._edits())
        abandonment = Abandonment(self._resources, self._sampler.readings, self._sampler.inventory)
        self._execution = Execution(
            ledger=self._ledger,
            injection=self._injection,
            describing=self._describing(),
            effects=Effects(control=reader, mps=self._mps()),
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
        self._link = self._link_to_console(
            Identity(
                node_name=config.node_name,
                driver=config.driver,
                pool=pool,
                source=reader.source,
                boot_id=boot_id,
            )
        )
        self._stopping = threading.Event()
        self._failure: BaseException | None = None

    def run(self) -> None:
        """Serve until `stop` is called.

        Raises:
            LockTimeoutError: another agent has the node to itself, or holds the claims.
            KubeletError: the sockets cannot be bound.
            Exception: a part that the agent cannot do without has failed.

        """
        with self._alone():
            try:
                self._start()
                self._stopping.wait()
            finally:
                self._end()
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        """Have `run` return; callable from a signal handler."""
        self._stopping.set()

    def _start(self) -> None:
        self._ledger.on_change(self._outbox.note_claims)
        self._begin("sampler", self._sampler.run)
        if not self._sampler.has_looked.wait(FIRST_LOOK_SECONDS):
            log.warning("gpus not found yet", seconds=FIRST_LOOK_SECONDS)
        inventory = self._sampler.inventory()
        self._begin("health", self._watcher.run)
        self._recover()
        self._keeper.repair(inventory)
        self._check_char_links(inventory)
        self._presence.start(self._begin)
        self._begin("slices-follow", self._publisher.follow)
        self._begin("slices-write", self._publisher.write)
        self._begin("keeper", self._keeper.run)
        if self._config.tells_device_status:
            self._ledger.on_change(self._status.look_again)
            self._begin("device-status", self._status.run)
        if self._link is not None:
            self._begin("console-link", self._link.run)
        self._warn_of_kubelet()
        log.info("agent started", node=self._config.node_name, driver=self._config.driver)

    def _end(self) -> None:
        log.info("agent stopping")
        # First: kubelet's health streams end with it, and the successor's word counts.
        self._watcher.stop()
        self._publisher.stop()
        self._presence.stop()
        self._keeper.stop()
        self._sampler.stop()
        self._status.stop()
        if self._link is not None:
            self._link.stop()

    def _alone(self) -> AbstractContextManager[None]:
        """Keep others from the node, or only from each claim where two agents may be there."""
        if self._pod_uid is not None:
            return nullcontext()
        lock = self._config.plugin_directory / "agent.lock"
        return locked(lock, within_seconds=PREDECESSOR_SECONDS)

    def _kubelet_version(self) -> KubeletVersion:
        try:
            return KubeletVersion.of(self._resources.node(self._config.node_name))
        except (FieldError, KubeError) as error:
            log.warning("version of kubelet not known", reason=str(error))
            return KubeletVersion("", None)

    def _warn_of_kubelet(self) -> None:
        if self._kubelet.deadlocks_when_idle:
            log.error("kubelet stops calling plugins: upgrade it", version=self._kubelet.text)
            self._record(kubelet_deadlocks(self._config.node_name, version=self._kubelet.text))

    def _record(self, event: JsonObject) -> None:
        try:
            self._resources.create_event(event, namespace="default")
        except KubeError as error:
            log.warning("event not recorded", reason=str(error))

    def _take_inventory(self, inventory: Inventory) -> None:
        # With their taints from the first moment on: a device that is known to be sick is not
        # to be offered for the seconds until the next look.
        self._publisher.offer(inventory, self._watcher.look().taints)

    def _take_taints(self, report: HealthReport) -> None:
        self._publisher.offer_taints(report.taints)

    def _recover(self) -> None:
        recovered = self._recovered(time.monotonic() + PREDECESSOR_SECONDS)
        if recovered.rebuilt:
            log.warning("claims found again without the checkpoint", claims=recovered.rebuilt)
        if recovered.corrupt_file is not None:
            file = recovered.corrupt_file
            self._record(checkpoint_corrupted(self._config.node_name, file=file))

    def _recovered(self, deadline: float) -> Recovered:
        while True:
            try:
                return recover(
                    self._execution,
                    claims=lambda: self._resources.claims().items,
                    driver=self._config.driver,
                    pool=self._config.node_name,
                    now=datetime.now(UTC),
                )
            except LockTimeoutError:
                if time.monotonic() >= deadline:
                    raise
                log.info("another agent is at work on a claim")

    def _check_char_links(self, inventory: Inventory | None) -> None:
        if self._config.profile is not None or inventory is None:
            return
        links = CharLinks(Path("/dev"))
        nodes = nodes_of(self._injection.edits, inventory.devices)
        creates = self._config.creates_char_links
        missing = links.create(nodes) if creates else links.missing(nodes)
        if missing:
            paths = [node.path for node in missing]
            log.warning("systemd will take nodes without /dev/char link from pods", nodes=paths)

    def _begin(self, name: str, run: Callable[[], None]) -> None:
        def guarded() -> None:
            try:
                run()
            except Exception as error:
                log.exception("part failed", part=name)
                self._failure = error
                self._stopping.set()

        threading.Thread(target=guarded, name=name, daemon=True).start()

    def _reader(self) -> WorkerGpus | SimulatedGpus:
        config = self._config
        if config.profile is None:
            return WorkerGpus(Settings.under(config.driver_root.mounted, mig=config.mig))
        return SimulatedGpus(
            config.profile,
            config.node_name,
            prepared_devices=self._prepared_devices,
            is_dynamic=config.mig is MigPolicy.DYNAMIC,
            directory=config.plugin_directory,
            boot_id=self._boot_id,
        )

    def _prepared_devices(self) -> frozenset[str]:
        entries = self._ledger.entries.values()
        return frozenset(
            device.device
            for entry in entries
            if entry.state is State.COMPLETED
            for device in entry.devices
            if not device.admin_access
        )

    def _mps(self) -> MpsDaemons:
        return MpsDaemons(
            directory=self._config.plugin_directory / "mps",
            executable=self._config.mps_control,
            root=self._config.driver_root.mounted,
            cgroup=self._config.mps_cgroup,
        )

    def _edits(self) -> EditsSource:
        config = self._config
        if config.profile is not None:
            return SimulatedEdits()
        hook = (
            find_hook(config.driver_root)
            if config.cdi_hook is None
            else install_hook(config.cdi_hook, config.plugin_directory)
        )
        if hook is None:
            log.warning("no nvidia-cdi-hook: containers find libraries by LD_LIBRARY_PATH only")
        return NvidiaEdits.at(config.driver_root, hook=hook)

    def _describing(self) -> Describing:
        config = self._config
        files = MetadataFiles(config.plugin_directory, config.cdi_directory, config.driver)
        attributes = attributes_in_slice if config.describes_devices else None
        return Describing(files=files, attributes=attributes)

    def _link_to_console(self, identity: Identity) -> Link | None:
        if self._config.console_url is None or self._config.console_token_file is None:
            return None
        return Link(
            self._config.console_url,
            token_file=self._config.console_token_file,
            identity=identity,
            outbox=self._outbox,
            ledger=self._ledger,
        )


def attributes_in_slice(device: Device, source: Source) -> Mapping[str, Json]:
    """Return a device's attributes as a server with every feature would have them published."""
    every = attributes_of(device, source=source, shape=Shape())
    return fitting_attributes(every, device=device.name, capacities=PLACE_FOR_UUID)


def read_boot_id() -> str:
    """Return what the kernel calls this boot."""
    return BOOT_ID.read_text().strip()
