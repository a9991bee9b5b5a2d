"""The flags of `dra-nodeagent`. `docs/node-agent.md` describes each for those who run it."""

import argparse
from pathlib import Path, PurePosixPath
from typing import Final

from nodeagent import __version__, flag_values
from nodeagent.claims.configuration import GATES
from nodeagent.devices.profiles import PROFILES
from nodeagent.devices.settings import MigPolicy
from nodeagent.devices.taint import Effect

LOG_LEVELS: Final = ("debug", "info", "warning", "error")


def parser_of_agent() -> argparse.ArgumentParser:
    """Return what takes a command line apart; flags that need each other are for `config`."""
    parser = argparse.ArgumentParser(
        prog="dra-nodeagent",
        description="Offer this node's GPUs to Kubernetes by Dynamic Resource Allocation.",
        allow_abbrev=False,
    )
    _add_commands(parser)
    _add_place(parser)
    _add_devices(parser)
    _add_claims(parser)
    _add_health(parser)
    _add_watchers(parser)
    return parser


def _add_commands(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("What to do instead of serving")
    commands = group.add_mutually_exclusive_group()
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
    group.add_argument("--version", action="version", version=__version__)


def _add_place(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("This node")
    group.add_argument("--node-name", required=True, help="name of this machine's Node object")
    group.add_argument(
        "--pod-uid",
        type=flag_values.pod_uid,
        help="UID of the agent's pod: lets its successor start beside it (maxSurge)",
    )
    group.add_argument(
        "--kubelet-root",
        type=Path,
        default=Path("/var/lib/kubelet"),
        help="kubelet's root directory, under the same path as kubelet sees it",
    )
    group.add_argument(
        "--cdi-dir",
        type=Path,
        default=Path("/var/run/cdi"),
        help="where the container runtime looks for dynamic CDI files",
    )
    group.add_argument(
        "--static-cdi-dir",
        type=Path,
        help="directory for static CDI files to make for runtimes that fail without it: /etc/cdi",
    )
    group.add_argument(
        "--host-root",
        type=Path,
        default=Path("/"),
        help="where --check sees the host's root directory, for the container runtime's files",
    )
    group.add_argument("--kubeconfig", help="default: the pod's own service account")


def _add_devices(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("Which devices are offered, and how")
    group.add_argument(
        "--driver", type=flag_values.driver, default="gpu.nvidia.com", help="name of the DRA driver"
    )
    group.add_argument(
        "--simulate", action="store_true", help="offer GPUs that do not exist, marked as such"
    )
    group.add_argument(
        "--profile", choices=sorted(PROFILES), help="which GPUs to simulate; needs --simulate"
    )
    group.add_argument(
        "--driver-root",
        type=flag_values.host_directory,
        default=PurePosixPath("/"),
        help="where the host has the NVIDIA driver: /, or a driver container's /run/nvidia/driver",
    )
    group.add_argument(
        "--driver-root-mounted",
        type=Path,
        help="where this process sees that directory; default: under the same path",
    )
    group.add_argument(
        "--mig-mode",
        choices=[policy.value for policy in MigPolicy],
        default=MigPolicy.STATIC.value,
        help="offer MIG partitions that exist, or every possible one, made when a claim gets it",
    )
    group.add_argument(
        "--shares",
        type=flag_values.shares,
        default=1,
        metavar="N",
        help="let several claims have one GPU, each a share of its memory or more; default: 1",
    )
    group.add_argument(
        "--publish-serials",
        action="store_true",
        help="say the boards' serials in slices, to everybody who may list those",
    )
    group.add_argument(
        "--beside-device-plugin",
        action="store_true",
        help="publish GPUs although a device plugin of this node offers them as well",
    )
    group.add_argument(
        "--telemetry-only",
        action="store_true",
        help="only tell the console how GPUs are that another vendor's driver (--driver) serves",
    )
    group.add_argument(
        "--create-dev-char-links",
        action="store_true",
        help="make the links in /dev/char without which systemd takes GPUs from running containers",
    )


def _add_claims(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("What claims may ask for, and what containers get")
    group.add_argument(
        "--feature-gates",
        type=flag_values.feature_gates,
        default=frozenset(),
        metavar="NAME=BOOL,...",
        help=f"all off by default: {', '.join(GATES.values())}",
    )
    group.add_argument(
        "--mps-control",
        default="nvidia-cuda-mps-control",
        help="control program of NVIDIA's multi-process service, in the driver's root directory",
    )
    group.add_argument(
        "--mps-cgroup",
        type=Path,
        help="control group (v2) for MPS daemons, so that they outlive the agent's container",
    )
    group.add_argument(
        "--cdi-hook",
        type=Path,
        help="nvidia-cdi-hook to copy for the container runtime; default: the host's own, if any",
    )
    group.add_argument(
        "--device-metadata",
        action="store_true",
        help="tell containers their devices' attributes in a file, as of Kubernetes 1.36",
    )
    group.add_argument(
        "--device-status",
        action="store_true",
        help="say in each claim's status.devices what became of its devices",
    )


def _add_health(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("What is done about sick devices")
    group.add_argument(
        "--taint-effect",
        choices=[Effect.NO_SCHEDULE.value, Effect.NO_EXECUTE.value],
        default=Effect.NO_SCHEDULE.value,
        help="what happens about a device that cannot be trusted; NoExecute evicts its pods",
    )
    group.add_argument(
        "--ignored-xids",
        type=flag_values.numbers,
        default=frozenset(),
        metavar="N,...",
        help="the driver's error numbers that say nothing against the hardware, more than usual",
    )


def _add_watchers(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("Who is told how the agent and its GPUs are")
    group.add_argument(
        "--health-port",
        type=flag_values.port,
        default=-1,
        metavar="PORT",
        help="port of the gRPC health service for probes; 0: any; default: none",
    )
    group.add_argument(
        "--metrics-address",
        type=flag_values.address,
        metavar="HOST:PORT",
        help="where Prometheus may ask for metrics, as in 127.0.0.1:9815; default: nowhere",
    )
    group.add_argument("--console-url", help="WebSocket URL of the console; default: no live link")
    group.add_argument(
        "--console-token-file",
        type=Path,
        help="file with the token for the console, read for each connection",
    )
    group.add_argument("--log-level", choices=LOG_LEVELS, default="info", help="what to log")
