"""Bodies of requests, and waiting: what tests with pods on a real cluster have in common."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from tests.cluster.rig import Cluster, Json
from tests.cluster.rig.image import IMAGE

PATIENCE_SECONDS = 90
"""Long, since a busy machine is no finding."""

DRIVER = "gpu.nvidia.com"
RESOURCES = "/apis/resource.k8s.io/v1"
CLAIMS = f"{RESOURCES}/namespaces/default/resourceclaims"
PODS = "/api/v1/namespaces/default/pods"

Found = TypeVar("Found")


def eventually(look: Callable[[], Found], *, seconds: float = PATIENCE_SECONDS) -> Found:
    """Look until something is found, and return it; fail with what was seen last."""
    deadline = time.monotonic() + seconds
    while True:
        found = look()
        if found:
            return found
        assert time.monotonic() < deadline, f"not within {seconds} s; last seen: {found!r}"
        time.sleep(0.2)


def a_device_class(cluster: Cluster, name: str = DRIVER) -> None:
    """Make a class of all devices of the driver."""
    selector = {"cel": {"expression": f'device.driver == "{DRIVER}"'}}
    body = {"metadata": {"name": name}, "spec": {"selectors": [selector]}}
    cluster.api.create(f"{RESOURCES}/deviceclasses", body)


def a_template(cluster: Cluster, name: str = "gpu", **exactly: Any) -> None:
    """Make a claim template with one request for a device of the driver's class."""
    request = {"name": "gpu", "exactly": {"deviceClassName": DRIVER, **exactly}}
    spec = {"spec": {"devices": {"requests": [request]}}}
    path = f"{RESOURCES}/namespaces/default/resourceclaimtemplates"
    cluster.api.create(path, {"metadata": {"name": name}, "spec": spec})


def a_pod(
    cluster: Cluster,
    name: str,
    *command: str,
    template: str | None = None,
    mounted: Path | None = None,
) -> Json:
    """Make a pod of one container, with a claim from the template where one is named.

    A directory of the node can be mounted, under its own last name.
    """
    container: Json = {
        "name": "main",
        "image": IMAGE,
        "imagePullPolicy": "Never",
        "command": list(command),
    }
    whole: Json = {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 1,
        "containers": [container],
    }
    if mounted is not None:
        container["volumeMounts"] = [{"name": "mounted", "mountPath": f"/{mounted.name}"}]
        whole["volumes"] = [{"name": "mounted", "hostPath": {"path": str(mounted)}}]
    if template is not None:
        container["resources"] = {"claims": [{"name": "gpu"}]}
        whole["resourceClaims"] = [{"name": "gpu", "resourceClaimTemplateName": template}]
    cluster.add_default_account()
    return cluster.api.create(PODS, {"metadata": {"name": name}, "spec": whole})


def claim_of(cluster: Cluster, pod: str) -> Json | None:
    """Return the claim that was made for a pod, once its status names it."""
    statuses = cluster.api.get(f"{PODS}/{pod}")["status"].get("resourceClaimStatuses") or []
    if not statuses:
        return None
    return cluster.api.get(f"{CLAIMS}/{statuses[0]['resourceClaimName']}")


def ended(cluster: Cluster, pod: str) -> str | None:
    """Return the phase of a pod that has ended."""
    phase = str(cluster.api.get(f"{PODS}/{pod}")["status"]["phase"])
    return phase if phase in ("Succeeded", "Failed") else None
