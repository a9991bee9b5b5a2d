"""`python -m tests.cluster`, the verb `make cluster`: a real Kubernetes until Ctrl-C."""

import argparse
import os
import signal
import sys
import time
from collections.abc import Sequence
from types import FrameType
from typing import Final

from tests.cluster.rig import Cluster, StartError, running_cluster
from tests.cluster.rig.image import IMAGE
from tests.cluster.rig.options import EVERY_CONTROLLER, RESOURCE_VERSIONS, ClusterOptions
from tests.cluster.tools.recipes import KUBERNETES_VERSION, MissingProgramError, locate

STOP_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
LOOK_SECONDS: Final = 0.5


def main() -> int:
    """Run a cluster; the exit status is 0 after Ctrl-C, 1 where something did not come up."""
    parser = _parser()
    given = parser.parse_args()
    if given.node and "v1" not in given.versions:
        parser.error("--node needs v1 among --versions")
    options = {
        "resource_versions": given.versions,
        "feature_gates": dict(given.gate),
        "admission_on": tuple(given.admission_on),
        "admission_off": tuple(given.admission_off),
        "controllers": tuple(given.controllers.split(",")),
        "scheduler": not given.no_scheduler,
        "node": given.node,
    }
    if given.node and os.geteuid() != 0:
        return _fail("--node needs root: containers are made with mounts and control groups")
    for stopping in STOP_SIGNALS:
        signal.signal(stopping, _stop)
    say(f"Starting Kubernetes {KUBERNETES_VERSION}")
    try:
        with running_cluster(**options) as cluster:
            for number in range(1, given.nodes + 1):
                cluster.add_node(f"fake-{number}")
            _announce(cluster)
            status = _watch_over(cluster)
            say("Stopping")
    except (MissingProgramError, StartError) as error:
        return _fail(str(error))
    except KeyboardInterrupt:
        status = 0
    say("All processes have ended, and nothing is left")
    return status


def say(line: str) -> None:
    """Print one line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _fail(reason: str) -> int:
    sys.stderr.write(f"{reason}\n")
    return 1


def _watch_over(cluster: Cluster) -> int:
    """Wait for Ctrl-C (0) or for a process that ends by itself (1)."""
    try:
        while all(server.is_running for server in cluster.servers):
            time.sleep(LOOK_SECONDS)
    except KeyboardInterrupt:
        return 0
    for server in cluster.servers:
        if not server.is_running:
            _fail(f"{server.name} has ended:\n{server.tail()}")
    return 1


def _announce(cluster: Cluster) -> None:
    path = cluster.kubeconfig
    say("")
    say(f"  export KUBECONFIG={path}")
    say(f"  {locate('kubectl')} get resourceclaims -A")
    say(f"  make run KUBECONFIG={path}     # the console on this cluster")
    say("")
    if cluster.node is not None:
        say(f"The node {cluster.node.name} runs pods of {IMAGE} (imagePullPolicy: Never).")
        say(f"For a DRA driver on it: kubelet's root is {cluster.node.kubelet_root}")
        say(f"                        CDI files go to   {cluster.node.cdi_directory}")
    if "v1" not in cluster.apiserver.options.resource_versions:
        say("Without v1 Kubernetes' own scheduler places no pod, and templates make no claim.")
    say(f"Logs: {cluster.home.folder / 'logs'}")
    say("It runs until Ctrl-C, and then leaves nothing.")


def _stop(_signal: int, _frame: FrameType | None) -> None:
    """Begin to stop; an impatient second Ctrl-C must not cut the stopping short."""
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="make cluster CLUSTER='...'",
        description=f"Run Kubernetes {KUBERNETES_VERSION} on 127.0.0.1 until Ctrl-C.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--versions",
        type=_versions,
        default=ClusterOptions().resource_versions,
        metavar="LIST",
        help=f"served versions of resource.k8s.io, of {','.join(RESOURCE_VERSIONS)}"
        " (default: v1,v1beta2,v1beta1)",
    )
    parser.add_argument(
        "--gate",
        type=_gate,
        action="append",
        default=[],
        metavar="NAME=true|false",
        help="a feature gate of every process; may be given again",
    )
    parser.add_argument("--node", action="store_true", help="a real node (needs root)")
    parser.add_argument(
        "--nodes", type=int, default=0, metavar="N", help="nodes without kubelet, fake-1 to fake-N"
    )
    parser.add_argument(
        "--controllers",
        default=",".join(EVERY_CONTROLLER),
        metavar="LIST",
        help="as kube-controller-manager's flag (default: *)",
    )
    parser.add_argument("--no-scheduler", action="store_true", help="leave kube-scheduler out")
    for switch in ("on", "off"):
        parser.add_argument(
            f"--admission-{switch}",
            action="append",
            default=[],
            metavar="PLUGIN",
            help=f"switch an admission plugin {switch}; may be given again",
        )
    return parser


def _versions(text: str) -> Sequence[str]:
    versions = tuple(text.split(","))
    try:
        ClusterOptions(resource_versions=versions)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return versions


def _gate(text: str) -> tuple[str, bool]:
    name, _, value = text.partition("=")
    if not name or value not in ("true", "false"):
        raise argparse.ArgumentTypeError(f"expected NAME=true or NAME=false, got {text!r}")
    return name, value == "true"


if __name__ == "__main__":
    sys.exit(main())
