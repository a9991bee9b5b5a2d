"""This repository's node agent as the DRA driver of the rig's node, with simulated GPUs."""

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.cluster.rig import Cluster, Server
from tests.cluster.workloads import RESOURCES

CHECKOUT = Path(__file__).parents[2]
RIGHTS = (
    {"apiGroups": ["resource.k8s.io"], "resources": ["resourceclaims"], "verbs": ["get", "list"]},
    {
        "apiGroups": ["resource.k8s.io"],
        "resources": ["resourceslices"],
        "verbs": ["get", "list", "watch", "create", "update", "delete"],
    },
    {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]},
    {"apiGroups": [""], "resources": ["events"], "verbs": ["create"]},
)
"""As `docs/node-agent.md` says, and no more."""


@contextlib.contextmanager
def running_agent(cluster: Cluster, *, profile: str) -> Iterator[Server]:
    """Run the agent until the block ends; it begins when the node's devices are published."""
    node = cluster.node
    assert node is not None
    account = cluster.service_account("nodeagent", *RIGHTS)

    def has_published() -> bool:
        slices = cluster.api.get(f"{RESOURCES}/resourceslices")["items"]
        return any(each["spec"].get("nodeName") == node.name for each in slices)

    agent = Server(
        "nodeagent",
        lambda: [
            *(sys.executable, "-m", "nodeagent", "--simulate", f"--profile={profile}"),
            f"--node-name={node.name}",
            f"--kubelet-root={node.kubelet_root}",
            f"--cdi-dir={node.cdi_directory}",
            f"--kubeconfig={account.kubeconfig}",
        ],
        log=cluster.home.log("nodeagent"),
        environment={**cluster.home.environment, "PYTHONPATH": str(CHECKOUT)},
        is_ready=has_published,
    )
    agent.start()
    try:
        yield agent
    finally:
        agent.stop()
