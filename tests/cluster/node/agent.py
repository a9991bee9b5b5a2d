"""Our node agent on the rig's node, with the rights and the token of a deployed one."""

import subprocess
import sys
import uuid
from pathlib import Path
from typing import Final

from tests.cluster.rig import Cluster, Server
from tests.cluster.tools.recipes import locate
from tests.cluster.workloads import RESOURCES
from tests.deployment import FOLDER, kustomization, the

CHECKOUT: Final = Path(__file__).parents[3]
ACCOUNT: Final[dict[str, str]] = the("ServiceAccount")["metadata"]
USERNAME: Final = f"system:serviceaccount:{ACCOUNT['namespace']}:{ACCOUNT['name']}"
AUDIENCE: Final = "dra-console"
PROFILE: Final = "l4x4"
VERSION: Final = "7.0.1"


class NodeAgent:
    """The agent of the cluster's one node: started, killed, replaced by another version."""

    def __init__(self, cluster: Cluster, *, console_url: str) -> None:
        """Deploy it, except that it runs beside the cluster and not in a pod."""
        assert cluster.node is not None
        self.cluster = cluster
        self.node = cluster.node
        self._console_url = console_url
        folder = cluster.home.folder / "agent"
        folder.mkdir()
        kubectl = (locate("kubectl"), "--kubeconfig", cluster.kubeconfig)
        # The console's own namespace is there already: they share it.
        files = [FOLDER / name for name in kustomization()["resources"]]
        for file in files:
            if file.name != "daemonset.yaml":
                subprocess.run([*kubectl, "apply", "-f", file], check=True, capture_output=True)
        self._kubeconfig = cluster.home.write_kubeconfig(
            "nodeagent", cluster.url, token=self._token_of_this_node()
        )
        self._console_token = folder / "console-token"
        self._console_token.write_text(self._token_of_this_node(AUDIENCE))
        self._dies_at = folder / "dies-at"
        self.faults = self.plugin_directory / "simulated-faults.json"
        self.server = self.another()

    @property
    def plugin_directory(self) -> Path:
        """Where the agent keeps its checkpoint and its socket."""
        return self.node.kubelet_root / "plugins" / "gpu.nvidia.com"

    def another(self, version: str = VERSION) -> Server:
        """Make an agent of the node, in a pod of its own, not started yet."""
        return Server(
            f"agent-{version}",
            lambda: [
                *(sys.executable, "-m", "tests.cluster.node.mortal_agent"),
                *("--simulate", f"--profile={PROFILE}", "--log-level=debug"),
                f"--node-name={self.node.name}",
                f"--pod-uid={uuid.uuid5(uuid.NAMESPACE_DNS, version)}",
                f"--kubelet-root={self.node.kubelet_root}",
                f"--cdi-dir={self.node.cdi_directory}",
                f"--kubeconfig={self._kubeconfig}",
                f"--console-url={self._console_url}",
                f"--console-token-file={self._console_token}",
            ],
            log=self.cluster.home.log(f"agent-{version}"),
            environment={
                **self.cluster.home.environment,
                "PYTHONPATH": str(CHECKOUT),
                "DIES_AT": str(self._dies_at),
                "AGENT_VERSION": version,
            },
            is_ready=lambda: bool(self.slices()),
        )

    def doom(self, moment: str) -> None:
        """Have the running agent die at a write of an entry: `after started`, say."""
        self._dies_at.write_text(moment)

    def slices(self) -> dict[str, str]:
        """Return name and UID of each slice of the node."""
        found = self.cluster.api.get(f"{RESOURCES}/resourceslices")["items"]
        return {
            each["metadata"]["name"]: each["metadata"]["uid"]
            for each in found
            if each["spec"].get("nodeName") == self.node.name
        }

    def _token_of_this_node(self, *audiences: str) -> str:
        """Ask for a token as kubelet does for a pod: it says on which node its owner is."""
        node = self.cluster.api.get(f"/api/v1/nodes/{self.node.name}")["metadata"]
        bound = {"apiVersion": "v1", "kind": "Node", "name": node["name"], "uid": node["uid"]}
        spec = {"expirationSeconds": 86400, "boundObjectRef": bound}
        accounts = f"/api/v1/namespaces/{ACCOUNT['namespace']}/serviceaccounts"
        body = {"spec": {**spec, "audiences": list(audiences)} if audiences else spec}
        made = self.cluster.api.create(f"{accounts}/{ACCOUNT['name']}/token", body)
        return str(made["status"]["token"])
