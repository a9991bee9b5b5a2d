"""How one agent runs, decoded from its command line."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from nodeagent.cdi.driver_root import DriverRoot
from nodeagent.claims.sharing import Strategy
from nodeagent.command_line import parser_of_agent
from nodeagent.devices.settings import MigPolicy
from nodeagent.devices.taint import Effect
from nodeagent.health import xids


class Command(StrEnum):
    """What the process is started for."""

    SERVE = "serve"
    CHECK = "check"
    ONCE = "once"


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """How one agent runs. Paths are as seen by this process."""

    node_name: str
    driver: str
    profile: str | None
    """The simulated GPUs, or `None` for the real ones."""

    pod_uid: str | None
    """The agent's own pod, if a successor may run beside it while an update rolls."""

    health_port: int
    """Where kubelet's probes are answered; 0 for any free port, negative for nowhere."""

    metrics_address: tuple[str, int] | None
    """Host and port where Prometheus may ask; port 0 for any free one."""

    kubelet_root: Path
    cdi_directory: Path
    static_cdi_directory: Path | None
    """Made if it is not there; old runtimes inject nothing without it."""

    driver_root: DriverRoot
    """Where the driver of real GPUs is installed."""

    host_root: Path
    """Where this process sees the host's root directory; only `--check` looks there."""

    ignores_device_plugins: bool
    """Whether to publish GPUs that a device plugin offers, too."""

    mig: MigPolicy
    """Who makes MIG partitions: the administrator beforehand, or the agent for claims."""

    cdi_hook: Path | None
    """NVIDIA's program that finishes a container; `None`: the host's own, if there is one."""

    describes_devices: bool
    """Whether containers get a file about their devices (KEP-5304)."""

    creates_char_links: bool
    """Whether to add what systemd needs below the host's `/dev/char`, or only to say so."""

    offered_sharing: frozenset[Strategy]
    """The ways of sharing a device whose feature gates are on."""

    mps_control: str
    """The control program of NVIDIA's multi-process service, in the driver's root directory."""

    mps_cgroup: Path | None
    """A control group outside the agent's container, for what must outlive it."""

    tells_device_status: bool
    """Whether claims say in their status what became of their devices."""

    shares: int
    """Into how many equal shares of its memory claims may divide a GPU; 1 for none."""

    publishes_serials: bool
    """Whether slices say the serials of boards, which never change and name their owner."""

    fatal_effect: Effect
    """What the taint of a device that cannot be trusted does: keep claims away, or evict pods."""

    application_xids: frozenset[int]
    """Error numbers that say nothing against the hardware."""

    kubeconfig: str | None
    """`None` for the pod's own service account."""

    only_watches: bool
    """Beside another vendor's driver: live state for the console and nothing else."""

    console_url: str | None
    console_token_file: Path | None
    log_level: str
    command: Command

    @property
    def registry_directory(self) -> Path:
        """Where kubelet looks for registration sockets."""
        return self.kubelet_root / "plugins_registry"

    @property
    def plugin_directory(self) -> Path:
        """Ours alone: socket, checkpoint, lock."""
        return self.kubelet_root / "plugins" / self.driver


def parse(arguments: Sequence[str]) -> Config:
    """Read a command line.

    Raises:
        SystemExit: it is wrong; what was expected stands on standard error.

    """
    parser = parser_of_agent()
    given = parser.parse_args(arguments)
    if given.simulate and given.profile is None:
        parser.error("--simulate needs --profile: which GPUs shall there be?")
    if given.profile is not None and not given.simulate:
        parser.error("--profile is for simulated GPUs: add --simulate, or leave it out")
    if (given.console_url is None) != (given.console_token_file is None):
        parser.error("--console-url and --console-token-file go together")
    if given.telemetry_only and given.console_url is None:
        parser.error("--telemetry-only needs --console-url: there is nobody else to tell")
    return Config(
        node_name=given.node_name,
        driver=given.driver,
        profile=given.profile,
        pod_uid=given.pod_uid,
        health_port=given.health_port,
        metrics_address=given.metrics_address,
        kubelet_root=given.kubelet_root.absolute(),
        cdi_directory=given.cdi_dir.absolute(),
        static_cdi_directory=given.static_cdi_dir,
        driver_root=DriverRoot(
            given.driver_root, given.driver_root_mounted or Path(given.driver_root)
        ),
        host_root=given.host_root,
        ignores_device_plugins=given.beside_device_plugin,
        mig=MigPolicy(given.mig_mode),
        cdi_hook=given.cdi_hook,
        describes_devices=given.device_metadata,
        creates_char_links=given.create_dev_char_links,
        offered_sharing=given.feature_gates,
        mps_control=given.mps_control,
        mps_cgroup=given.mps_cgroup,
        tells_device_status=given.device_status,
        shares=given.shares,
        publishes_serials=given.publish_serials,
        fatal_effect=Effect(given.taint_effect),
        application_xids=xids.APPLICATION | given.ignored_xids,
        kubeconfig=given.kubeconfig,
        only_watches=given.telemetry_only,
        console_url=given.console_url,
        console_token_file=given.console_token_file,
        log_level=given.log_level,
        command=_command(check=given.check, once=given.once),
    )


def _command(*, check: bool, once: bool) -> Command:
    if check:
        return Command.CHECK
    return Command.ONCE if once else Command.SERVE
