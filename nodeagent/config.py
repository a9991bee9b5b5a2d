"""The agent's command line. `docs/node-agent.md` describes each flag for those who run it."""

import argparse
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from nodeagent import __version__
from nodeagent.cdi.driver_root import DriverRoot
from nodeagent.claims.configuration import GATES
from nodeagent.claims.sharing import Strategy
from nodeagent.devices.profiles import PROFILES
from nodeagent.devices.settings import MigPolicy
from nodeagent.devices.taint import Effect
from nodeagent.health import xids

DRIVER_NAME: Final = re.compile(
    r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*"
)
DRIVER_CHARACTERS: Final = 63
POD_UID: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
HIGHEST_PORT: Final = 65535
MOST_SHARES: Final = 128
LOG_LEVELS: Final = ("debug", "info", "warning", "error")


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

    kubelet_root: Path
    cdi_directory: Path
    static_cdi_directory: Path | None
    """Made if it is not there; old runtimes inject nothing without it."""

    driver_root: DriverRoot
    """Where the driver of real GPUs is installed."""

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
    parser = _parser()
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
        kubelet_root=given.kubelet_root.absolute(),
        cdi_directory=given.cdi_dir.absolute(),
        static_cdi_directory=given.static_cdi_dir,
        driver_root=DriverRoot(
            given.driver_root, given.driver_root_mounted or Path(given.driver_root)
        ),
        mig=MigPolicy(given.mig_mode),
        cdi_hook=given.cdi_hook,
        describes_devices=given.device_metadata,
        creates_char_links=given.create_dev_char_links,
        offered_sharing=given.feature_gates,
        mps_control=given.mps_control,
        mps_cgroup=given.mps_cgroup,
        tells_device_status=given.device_status,
        shares=given.shares,
        fatal_effect=Effect(given.taint_effect),
        application_xids=xids.APPLICATION | given.ignored_xids,
        kubeconfig=given.kubeconfig,
        only_watches=given.telemetry_only,
        console_url=given.console_url,
        console_token_file=given.console_token_file,
        log_level=given.log_level,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="dra-nodeagent",
        description="Offer this node's GPUs to Kubernetes by Dynamic Resource Allocation.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=__version__)
    parser.add_argument("--node-name", required=True, help="name of this machine's Node object")
    parser.add_argument(
        "--driver", type=_driver, default="gpu.nvidia.com", help="name of the DRA driver"
    )
    parser.add_argument(
        "--simulate", action="store_true", help="offer GPUs that do not exist, marked as such"
    )
    parser.add_argument(
        "--profile", choices=sorted(PROFILES), help="which GPUs to simulate; needs --simulate"
    )
    parser.add_argument(
        "--pod-uid",
        type=_pod_uid,
        help="UID of the agent's pod: lets its successor start beside it (maxSurge)",
    )
    parser.add_argument(
        "--health-port",
        type=_port,
        default=-1,
        metavar="PORT",
        help="port of the gRPC health service for probes; 0: any; default: none",
    )
    parser.add_argument(
        "--kubelet-root",
        type=Path,
        default=Path("/var/lib/kubelet"),
        help="kubelet's root directory, under the same path as kubelet sees it",
    )
    parser.add_argument(
        "--cdi-dir",
        type=Path,
        default=Path("/var/run/cdi"),
        help="where the container runtime looks for dynamic CDI files",
    )
    parser.add_argument(
        "--static-cdi-dir",
        type=Path,
        help="directory for static CDI files to make for runtimes that fail without it: /etc/cdi",
    )
    parser.add_argument(
        "--driver-root",
        type=_host_directory,
        default=PurePosixPath("/"),
        help="where the host has the NVIDIA driver: /, or a driver container's /run/nvidia/driver",
    )
    parser.add_argument(
        "--driver-root-mounted",
        type=Path,
        help="where this process sees that directory; default: under the same path",
    )
    parser.add_argument(
        "--mig-mode",
        choices=[policy.value for policy in MigPolicy],
        default=MigPolicy.STATIC.value,
        help="offer MIG partitions that exist, or every possible one, made when a claim gets it",
    )
    parser.add_argument(
        "--cdi-hook",
        type=Path,
        help="nvidia-cdi-hook to copy for the container runtime; default: the host's own, if any",
    )
    parser.add_argument(
        "--device-metadata",
        action="store_true",
        help="tell containers their devices' attributes in a file, as of Kubernetes 1.36",
    )
    parser.add_argument(
        "--create-dev-char-links",
        action="store_true",
        help="make the links in /dev/char without which systemd takes GPUs from running containers",
    )
    parser.add_argument(
        "--feature-gates",
        type=_feature_gates,
        default=frozenset(),
        metavar="NAME=BOOL,...",
        help=f"all off by default: {', '.join(GATES.values())}",
    )
    parser.add_argument(
        "--mps-control",
        default="nvidia-cuda-mps-control",
        help="control program of NVIDIA's multi-process service, in the driver's root directory",
    )
    parser.add_argument(
        "--mps-cgroup",
        type=Path,
        help="control group (v2) for MPS daemons, so that they outlive the agent's container",
    )
    parser.add_argument(
        "--device-status",
        action="store_true",
        help="say in each claim's status.devices what became of its devices",
    )
    parser.add_argument(
        "--shares",
        type=_shares,
        default=1,
        metavar="N",
        help="let several claims have one GPU, each a share of its memory or more; default: 1",
    )
    parser.add_argument(
        "--taint-effect",
        choices=[Effect.NO_SCHEDULE.value, Effect.NO_EXECUTE.value],
        default=Effect.NO_SCHEDULE.value,
        help="what happens about a device that cannot be trusted; NoExecute evicts its pods",
    )
    parser.add_argument(
        "--ignored-xids",
        type=_numbers,
        default=frozenset(),
        metavar="N,...",
        help="the driver's error numbers that say nothing against the hardware, more than usual",
    )
    parser.add_argument("--kubeconfig", help="default: the pod's own service account")
    parser.add_argument(
        "--telemetry-only",
        action="store_true",
        help="only tell the console how GPUs are that another vendor's driver (--driver) serves",
    )
    parser.add_argument("--console-url", help="WebSocket URL of the console; default: no live link")
    parser.add_argument(
        "--console-token-file",
        type=Path,
        help="file with the token for the console, read for each connection",
    )
    parser.add_argument("--log-level", choices=LOG_LEVELS, default="info", help="what to log")
    return parser


def _host_directory(path: str) -> PurePosixPath:
    directory = PurePosixPath(path)
    if not directory.is_absolute():
        raise argparse.ArgumentTypeError(f"expected an absolute path, got {path!r}")
    return directory


def _feature_gates(written: str) -> frozenset[Strategy]:
    strategies = {gate: strategy for strategy, gate in GATES.items()}
    offered = set()
    for setting in filter(None, written.split(",")):
        gate, _, value = setting.partition("=")
        if gate not in strategies or value not in ("true", "false"):
            known = ", ".join(strategies)
            raise argparse.ArgumentTypeError(
                f"expected NAME=true or NAME=false with a name of {known}; got {setting!r}"
            )
        if value == "true":
            offered.add(strategies[gate])
    return frozenset(offered)


def _numbers(written: str) -> frozenset[int]:
    numbers = [number.strip() for number in written.split(",") if number.strip()]
    wrong = [number for number in numbers if not number.isdecimal()]
    if wrong:
        raise argparse.ArgumentTypeError(f"expected numbers, got {wrong[0]!r}")
    return frozenset(map(int, numbers))


def _shares(written: str) -> int:
    if not written.isdecimal() or not 1 <= int(written) <= MOST_SHARES:
        raise argparse.ArgumentTypeError(f"expected 1 to {MOST_SHARES}, got {written!r}")
    return int(written)


def _pod_uid(written: str) -> str:
    if not POD_UID.fullmatch(written):
        raise argparse.ArgumentTypeError(f"expected a pod's metadata.uid, got {written!r}")
    return written


def _port(written: str) -> int:
    if not re.fullmatch(r"-?[0-9]+", written) or int(written) > HIGHEST_PORT:
        raise argparse.ArgumentTypeError(f"expected a port up to {HIGHEST_PORT}, got {written!r}")
    return int(written)


def _driver(name: str) -> str:
    if len(name) > DRIVER_CHARACTERS or not DRIVER_NAME.fullmatch(name):
        raise argparse.ArgumentTypeError(
            f"expected a DNS subdomain of at most {DRIVER_CHARACTERS} characters, got {name!r}"
        )
    return name
