"""Nodes without a kubelet: the object, a Ready condition, and a lease that is renewed.

They are for scheduling and for fleets; a pod that is bound to one stays Pending.
"""

import contextlib
import datetime as dt
import http.client
import threading
from collections.abc import Mapping
from typing import Final

from tests.cluster.rig.api import Api, ApiError, Json

LEASES: Final = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
LEASE_SECONDS: Final = 40
RENEW_SECONDS: Final = 10


class FakeNodes:
    """Makes nodes and keeps them Ready, as the kubelets that they do not have would."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._names: list[str] = []
        self._stopping = threading.Event()
        self._renewing: threading.Thread | None = None

    def add(self, name: str, *, labels: Mapping[str, str] | None = None) -> Json:
        """Make a node that pods and claims can be placed on; returns the object."""
        marks = {"kubernetes.io/hostname": name, **(labels or {})}
        self._api.create("/api/v1/nodes", {"metadata": {"name": name, "labels": marks}})
        resources = {"cpu": "16", "memory": "64Gi", "pods": "110"}
        self._api.patch(
            f"/api/v1/nodes/{name}/status",
            {
                "status": {
                    "capacity": resources,
                    "allocatable": resources,
                    "conditions": [_ready()],
                }
            },
        )
        self._api.create(LEASES, {"metadata": {"name": name}, "spec": _lease(name)})
        # Admission marks each new node as not ready; the controller that takes the mark away
        # may not be running, and is slow.
        node = self._api.patch(f"/api/v1/nodes/{name}", {"spec": {"taints": None}})
        self._names.append(name)
        if self._renewing is None:
            self._renewing = threading.Thread(target=self._renew, daemon=True)
            self._renewing.start()
        return node

    def stop(self) -> None:
        """Renew no longer."""
        self._stopping.set()
        if self._renewing is not None:
            self._renewing.join()

    def _renew(self) -> None:
        while not self._stopping.wait(RENEW_SECONDS):
            for name in self._names:
                # A test may have stopped the server or deleted the node; the next turn tells.
                with contextlib.suppress(OSError, http.client.HTTPException, ApiError):
                    self._api.patch(f"{LEASES}/{name}", {"spec": _lease(name)})


def _lease(holder: str) -> Json:
    return {
        "holderIdentity": holder,
        "leaseDurationSeconds": LEASE_SECONDS,
        "renewTime": _now(),
    }


def _ready() -> Json:
    now = _now().partition(".")[0] + "Z"
    return {
        "type": "Ready",
        "status": "True",
        "reason": "KubeletReady",
        "message": "a node of the rig, without a kubelet",
        "lastHeartbeatTime": now,
        "lastTransitionTime": now,
    }


def _now() -> str:
    return dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
