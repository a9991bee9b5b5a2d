"""The agent as people deploy it: an image, and a folder for `kubectl apply -k`."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import yaml

from tests.cluster.node.pods import Pods
from tests.cluster.rig import Json
from tests.cluster.tools.agent_image import IMAGE
from tests.cluster.tools.recipes import locate
from tests.cluster.workloads import RESOURCES, eventually
from tests.deployment import FOLDER, the

DAEMONSET: Final = the("DaemonSet")["metadata"]
NAMESPACE: Final = DAEMONSET["namespace"]
LABEL: Final = "app.kubernetes.io/name=dra-nodeagent"
SIMULATED: Final = "node-agent-simulated"
ROLLOUT: Final = "--timeout=120s"
CONTAINER: Final = "/spec/template/spec/containers/0"


@dataclass(slots=True)
class Deployment(Pods):
    """The node, and the folder of the person who deploys to it."""

    folder: Path

    def apply(self, base: str = SIMULATED, *operations: Json) -> None:
        """Apply a folder of `deploy/`, its DaemonSet changed so; wait until the agent is Ready."""
        name, _, tag = IMAGE.partition(":")
        written = {
            "resources": [os.path.relpath(FOLDER.parent / base, self.folder)],
            "images": [{"name": "dra-nodeagent", "newName": name, "newTag": tag}],
            "patches": [{"target": {"kind": "DaemonSet"}, "patch": yaml.safe_dump(operations)}]
            if operations
            else [],
        }
        (self.folder / "kustomization.yaml").write_text(yaml.safe_dump(written))
        self.kubectl("apply", "-k", str(self.folder))
        self.rolled_out()

    def rolled_out(self) -> None:
        """Wait until every agent is Ready and of the newest version, and no other is left."""
        self.kubectl("rollout", "status", f"daemonset/{DAEMONSET['name']}", ROLLOUT)
        eventually(lambda: len(self.agents()) == 1)

    def agents(self) -> list[str]:
        """Return the names of the agents' pods."""
        path = f"/api/v1/namespaces/{NAMESPACE}/pods?labelSelector={LABEL}"
        return [each["metadata"]["name"] for each in self.cluster.api.get(path)["items"]]

    def kubectl(self, *words: str) -> str:
        """Run a command in the agent's namespace; return what it printed."""
        done = self._kubectl(*words)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def within(self, script: str) -> list[str]:
        """Run a script in the agent's container; return its lines."""
        return self.kubectl("exec", self.agent, "--", "sh", "-c", script).splitlines()

    @property
    def agent(self) -> str:
        """The name of the only agent's pod."""
        (only,) = self.agents()
        return only

    def slices(self) -> list[Json]:
        """Return all slices."""
        found: list[Json] = self.cluster.api.get(f"{RESOURCES}/resourceslices")["items"]
        return found

    def logs(self) -> list[tuple[str, str]]:
        """Return how the agents' pods are and what they wrote last, each with its title."""
        asked = {
            "The agents' pods": ("describe", "pods", "-l", LABEL),
            "Log of the agents": ("logs", "-l", LABEL, "--prefix", "--tail=60"),
        }
        return [(title, self._kubectl(*words).stdout) for title, words in asked.items()]

    def sockets(self) -> list[str]:
        """Return what kubelet takes for plugins."""
        return [path.name for path in (self.node.kubelet_root / "plugins_registry").iterdir()]

    def _kubectl(self, *words: str) -> subprocess.CompletedProcess[str]:
        kubectl = (locate("kubectl"), "--kubeconfig", self.cluster.kubeconfig, "-n", NAMESPACE)
        return subprocess.run([*kubectl, *words], capture_output=True, text=True, check=False)


def an_argument(word: str) -> Json:
    """Return the operation that gives the agent one argument more."""
    return {"op": "add", "path": f"{CONTAINER}/args/-", "value": word}


def a_variable(name: str, value: str) -> Json:
    """Return the operation that gives the agent one variable of the environment more."""
    return {"op": "add", "path": f"{CONTAINER}/env/-", "value": {"name": name, "value": value}}
