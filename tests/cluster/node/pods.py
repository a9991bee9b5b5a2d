"""Pods with claims on a node with a DRA driver: made, looked into, deleted."""

import subprocess
from dataclasses import dataclass
from typing import Any, Final

from tests.cluster.rig import Cluster, Json
from tests.cluster.rig.api import ApiError
from tests.cluster.rig.image import IMAGE
from tests.cluster.rig.node import Node
from tests.cluster.tools.recipes import locate
from tests.cluster.workloads import CLAIMS, DRIVER, PODS, RESOURCES, eventually

TEMPLATES: Final = f"{RESOURCES}/namespaces/default/resourceclaimtemplates"
SLEEP: Final = ("sleep", "86400")


@dataclass(slots=True)
class Pods:
    """The pods of a cluster's one node."""

    cluster: Cluster

    @property
    def node(self) -> Node:
        assert self.cluster.node is not None
        return self.cluster.node

    def claim(self, name: str, *requests: str) -> Json:
        """Make a claim with one GPU a request."""
        return self.cluster.api.create(CLAIMS, a_claim(name, *(requests or ("gpu",))))

    def pod(self, name: str, *containers: Json, claim: str | None = None, gpus: int = 1) -> None:
        """Make a pod of these containers, with a claim of its own unless one is named."""
        reference: Json = {"name": "gpu", "resourceClaimName": claim}
        if claim is None:
            template = {"spec": a_claim("", "gpu", count=gpus)["spec"]}
            self.cluster.api.create(TEMPLATES, {"metadata": {"name": name}, "spec": template})
            reference = {"name": "gpu", "resourceClaimTemplateName": name}
        spec = {
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 1,
            "resourceClaims": [reference],
            "containers": list(containers or (a_container(),)),
        }
        self.cluster.add_default_account()
        self.cluster.api.create(PODS, {"metadata": {"name": name}, "spec": spec})

    def delete(self, pod: str, *, grace_seconds: int = 1) -> None:
        """Delete a pod; with 0 it is gone from the API at once, whatever kubelet knows."""
        body = {"gracePeriodSeconds": grace_seconds}
        self.cluster.api.request("DELETE", f"{PODS}/{pod}", body)

    def phase(self, pod: str) -> str:
        """Return how far a pod is; empty if there is none."""
        try:
            return str(self.cluster.api.get(f"{PODS}/{pod}")["status"]["phase"])
        except ApiError:
            return ""

    def runs(self, pod: str) -> Json:
        """Wait until a pod runs, and return it."""
        eventually(lambda: self.phase(pod) == "Running")
        return self.cluster.api.get(f"{PODS}/{pod}")

    def restarts(self, pod: str) -> list[int]:
        """Return how often each container was started again."""
        statuses = self.cluster.api.get(f"{PODS}/{pod}")["status"]["containerStatuses"]
        return [each["restartCount"] for each in statuses]

    def health_of(self, pod: str) -> set[str]:
        """Return how kubelet says the devices of a pod's first container are."""
        statuses: list[Any] = self.cluster.api.get(f"{PODS}/{pod}")["status"]["containerStatuses"]
        return {
            resource["health"]
            for status in statuses[0].get("allocatedResourcesStatus") or []
            for resource in status["resources"]
        }

    def claim_of(self, pod: str) -> Json:
        """Return the claim of a pod, once there is one."""

        def name() -> str:
            found = self.cluster.api.get(f"{PODS}/{pod}")
            status = found["status"].get("resourceClaimStatuses") or [{}]
            named = found["spec"]["resourceClaims"][0].get("resourceClaimName")
            return str(named or status[0].get("resourceClaimName", ""))

        return self.cluster.api.get(f"{CLAIMS}/{eventually(name)}")

    def devices_of(self, pod: str) -> list[str]:
        """Return the devices that a pod's claim was allocated."""
        return devices_in(self.claim_of(pod))

    def files_of(self, claim: Json) -> list[str]:
        """Return the names of a claim's CDI files."""
        found = self.node.cdi_directory.glob(f"*{claim['metadata']['uid']}*")
        return sorted(path.name for path in found)

    def inside(self, pod: str, *command: str, container: str = "main") -> list[str]:
        """Run a command in a container, as a person does it, and return its words."""
        kubectl = (locate("kubectl"), "--kubeconfig", self.cluster.kubeconfig)
        done = subprocess.run(
            [*kubectl, "exec", pod, "-c", container, "--", *command],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    def gpus_inside(self, pod: str, container: str = "main") -> set[str]:
        """Return the GPUs in a container, which its environment and its devices agree upon."""
        told = {
            word.removeprefix("DRA_SIMULATED_").partition("=")[0].lower().replace("_", "-")
            for word in self.inside(pod, "env", container=container)
            if word.startswith("DRA_SIMULATED_")
        }
        nodes = {
            f"gpu-{word.removeprefix('nvidia')}"
            for word in self.inside(pod, "ls", "/dev", container=container)
            if word.startswith("nvidia")
        }
        assert told == nodes
        return told

    def clear(self) -> None:
        """Delete every pod, claim and template, and wait until the node has let go of them."""
        for pod in self.cluster.api.get(PODS)["items"]:
            self.delete(pod["metadata"]["name"], grace_seconds=0)
        self.cluster.api.delete(CLAIMS)
        self.cluster.api.delete(TEMPLATES)
        eventually(lambda: not self.cluster.api.get(CLAIMS)["items"])
        eventually(lambda: not list(self.node.cdi_directory.glob("*claim*")))


def a_container(name: str = "main", *requests: str) -> Json:
    """Return a container that sleeps with these requests of the pod's claim, or all of it."""
    claims = [{"name": "gpu", "request": request} for request in requests] or [{"name": "gpu"}]
    return {
        "name": name,
        "image": IMAGE,
        "imagePullPolicy": "Never",
        "command": list(SLEEP),
        "resources": {"claims": claims},
    }


def a_claim(name: str, *requests: str, count: int = 1) -> Json:
    """Return a claim with `count` GPUs a request."""
    exactly = {"deviceClassName": DRIVER, "count": count}
    devices = {"requests": [{"name": request, "exactly": exactly} for request in requests]}
    return {"metadata": {"name": name}, "spec": {"devices": devices}}


def devices_in(claim: Json) -> list[str]:
    """Return the names of the devices that a claim holds."""
    allocation: dict[str, Any] = claim.get("status", {}).get("allocation") or {}
    return [each["device"] for each in allocation.get("devices", {}).get("results", [])]
