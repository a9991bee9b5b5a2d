"""What the kubelet writes of a pod to the API server.

Each write is for the pod with one uid: if another has taken its name, or none is there,
nothing is written, since the worker is about to hear of that anyway.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from dra_console.allocator.model import Json, JsonObject
from dra_console.devcluster.errors import ConflictError, NotFoundError
from dra_console.devcluster.fields import inside
from dra_console.devcluster.kubelet_claim_rules import ContainerDevice
from dra_console.devcluster.kubelet_claims import NodeClaims
from dra_console.devcluster.pod_status import PodStatus, status_json
from dra_console.devcluster.pods import Pod
from dra_console.devcluster.store import Store
from dra_console.kube.kinds import PODS

CDI_ANNOTATION: Final = "devcluster.dra-console.io/cdi-devices"
"""JSON object: for each container with devices, the CDI names given to the runtime."""


@dataclass(frozen=True, slots=True)
class PodWrites:
    """Writes the pods of one node."""

    store: Store
    claims: NodeClaims

    def status(self, pod: Pod, *, status: PodStatus, now: datetime) -> None:
        """Replace what the kubelet contributes to the pod's status; no change, no write."""
        stored = self._stored(pod)
        if stored is None:
            return
        before = inside(stored, "status")
        resources = {
            container.name: _resources(self.claims.devices_of(container, pod=pod))
            for container in pod.all_containers
        }
        written = status_json(
            status,
            pod=pod,
            conditions=[condition.raw for condition in before.children("conditions")],
            resources=resources,
            now=now,
        )
        stored["status"] = {**before.raw, **written}
        self.store.update(PODS, stored, subresource="status")

    def cdi_names(self, pod: Pod) -> None:
        """Show in an annotation which CDI names each container gets."""
        names = {
            container.name: cdi_names(self.claims.devices_of(container, pod=pod))
            for container in pod.all_containers
        }
        stored = self._stored(pod)
        if stored is None or not any(names.values()):
            return
        value = json.dumps({container: each for container, each in names.items() if each})
        metadata = inside(stored, "metadata").raw
        annotations = inside(stored, "metadata", "annotations").raw
        metadata["annotations"] = {**annotations, CDI_ANNOTATION: value}
        self.store.update(PODS, stored)

    def remove(self, pod: Pod) -> None:
        """Let the API server drop a pod that is being deleted."""
        try:
            self.store.delete(PODS, pod.namespace, pod.name, uid=pod.uid, grace_period_seconds=0)
        except (ConflictError, NotFoundError):
            return

    def _stored(self, pod: Pod) -> JsonObject | None:
        try:
            stored = self.store.get(PODS, pod.namespace, pod.name)
        except NotFoundError:
            return None
        return stored if inside(stored, "metadata").text("uid") == pod.uid else None


def cdi_names(devices: Sequence[ContainerDevice]) -> list[str]:
    """Return each CDI name once, in the order of the devices."""
    return list(dict.fromkeys(name for device in devices for name in device.cdi_ids))


def _resources(devices: Sequence[ContainerDevice]) -> list[Json]:
    """Write `allocatedResourcesStatus`; health is unknown, as no health stream is read."""
    by_name: dict[str, list[Json]] = {}
    for device in devices:
        # The first CDI name is what kubelet itself takes as the id of a device.
        resource_id = device.cdi_ids[0] if device.cdi_ids else str(device.device_id)
        entry: JsonObject = {"resourceID": resource_id, "health": "Unknown"}
        by_name.setdefault(device.resource_name, []).append(entry)
    return [{"name": name, "resources": entries} for name, entries in by_name.items()]
