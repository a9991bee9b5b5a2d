"""The flags of `dra-nodeagent`. `docs/node-agent.md` describes each for those who run it."""

import argparse
import re
from pathlib import Path, PurePosixPath
from typing import Final

from nodeagent import __version__
from nodeagent.claims.configuration import GATES
from nodeagent.claims.sharing import Strategy
from nodeagent.devices.profiles import PROFILES
from nodeagent.devices.settings import MigPolicy
from nodeagent.devices.taint import Effect

DRIVER_NAME: Final = re.compile(
    r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*"
)
DRIVER_CHARACTERS: Final = 63
POD_UID: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
HIGHEST_PORT: Final = 65535
MOST_SHARES: Final = 128
LOG_LEVELS: Final = ("debug", "info", "warning", "error")


def parser_of_agent() -> argparse.ArgumentParser:
    """Return what takes a command line apart; flags that need each other are for `config`."""
    parser = argparse.ArgumentParser(
        prog="dra-nodeagent",
        description="Offer this node's GPUs to Kubernetes by Dynamic Resource Allocation.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_mutually_exclusive_group()
    commands.add_argument(
        "--check",
        action="store_true",
        help="say what keeps this node from serving GPUs, and end; changes nothing",
    )
    commands.add_argument(
        "--once",
        action="store_true",
        help="print devices, one reading and their health as JSON, and end; changes nothing",
    )
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
        "--metrics-address",
        type=_address,
        metavar="HOST:PORT",
        help="where Prometheus may ask for metrics, as in 127.0.0.1:9815; default: nowhere",
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
        "--host-root",
        type=Path,
        default=Path("/"),
        help="where --check sees the host's root directory, for the container runtime's files",
    )
    parser.add_argument(
        "--beside-device-plugin",
        action="store_true",
        help="publish GPUs although a device plugin of this node offers them as well",
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


def _address(written: str) -> tuple[str, int]:
    host, colon, port = written.rpartition(":")
    if not colon or not host or not port.isdecimal() or int(port) > HIGHEST_PORT:
        raise argparse.ArgumentTypeError(f"expected HOST:PORT, got {written!r}")
    return host.strip("[]"), int(port)
