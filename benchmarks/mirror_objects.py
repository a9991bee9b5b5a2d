"""What an API server holds of a fleet to mirror: slices and claims with all that it adds.

Each object carries what a real one carries beside its spec: times, labels, managed fields.
Versions number the writes, so two states of the same fleet differ where they should.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import NAMESPACE_URL, uuid5

from benchmarks.fleets import DRIVER, WHOLE_GPUS, a_gpu, gpu_name, node_name
from dra_console.allocator.model import Json, JsonObject
from dra_console.kube.kinds import RESOURCE_CLAIMS, RESOURCE_SLICES, Kind

EPOCH: Final = datetime(2026, 11, 1, 8, tzinfo=UTC)
FIRST_VERSION: Final = 1_000_000
"""As in a cluster that has lived for a while; versions are long numbers there."""

CLAIMS_IN_A_NAMESPACE: Final = 500
CHANGED_EVERY: Final = 100
"""One object of so many is another one in the changed state: one percent."""


@dataclass(frozen=True, slots=True)
class Fleet:
    """How much there is. The first claims hold one GPU each, until the GPUs run out."""

    nodes: int
    gpus: int
    claims: int

    @property
    def devices(self) -> int:
        return self.nodes * self.gpus

    def objects(self, kind: Kind, *, changed: bool) -> Iterator[JsonObject]:
        """Build all objects of slices or claims, in the order in which lists have them."""
        if kind == RESOURCE_SLICES:
            for number in range(self.nodes):
                is_changed = changed and number % CHANGED_EVERY == 0
                yield a_slice(number, gpus=self.gpus, version=version(number, 2 * is_changed))
        elif kind == RESOURCE_CLAIMS:
            for number in range(self.claims):
                is_changed = changed and number % CHANGED_EVERY == 0
                yield self.a_claim(number, writes=2 * is_changed)

    def a_claim(self, number: int, *, writes: int) -> JsonObject:
        """Build a claim; with an odd number of writes it has lost its pod."""
        claim = _claim(number, version=version(number, writes))
        if self.is_held(number):
            node, gpu = divmod(self.device_of(number), self.gpus)
            claim["status"] = _held(
                number, node_name(node), gpu_name(gpu), reserved=writes % 2 == 0
            )
        return claim

    def is_held(self, number: int) -> bool:
        """Tell whether a claim holds a device: nine of ten do."""
        return number % 10 != 0

    def device_of(self, number: int) -> int:
        """Number the device of a claim, so that no two hold the same."""
        return number % self.devices


def created_at(number: int) -> str:
    """Say when an object was created; no two of a kind at the same time."""
    return (EPOCH + timedelta(seconds=number)).strftime("%Y-%m-%dT%H:%M:%SZ")


def version(number: int, writes: int) -> str:
    """Number the version of the object `number` after so many writes."""
    return str(FIRST_VERSION + number + 10_000_000 * writes)


def a_slice(number: int, *, gpus: int, version: str) -> JsonObject:
    """Build a node's slice as the driver published it and the API server returns it."""
    name = node_name(number)
    pool: JsonObject = {"name": name, "generation": 1, "resourceSliceCount": 1}
    devices: list[Json] = [a_gpu(number, index) for index in range(gpus)]
    return {
        "metadata": {
            "name": f"{name}-{DRIVER}",
            "generateName": f"{name}-{DRIVER}-",
            "uid": str(uuid5(NAMESPACE_URL, f"slice/{number}")),
            "resourceVersion": version,
            "generation": 1,
            "creationTimestamp": created_at(number),
            "ownerReferences": [
                {
                    "apiVersion": "v1",
                    "kind": "Node",
                    "name": name,
                    "uid": str(uuid5(NAMESPACE_URL, f"node/{number}")),
                    "controller": True,
                }
            ],
            "managedFields": [
                _managed(number, "dra-driver", "f:spec", "f:devices", "f:driver", "f:pool")
            ],
        },
        "spec": {"driver": DRIVER, "nodeName": name, "pool": pool, "devices": devices},
    }


def _claim(number: int, *, version: str) -> JsonObject:
    pod = f"train-{number}"
    request: JsonObject = {
        "name": "gpu",
        "exactly": {
            "deviceClassName": WHOLE_GPUS,
            "allocationMode": "ExactCount",
            "count": 1,
        },
    }
    return {
        "metadata": {
            "name": f"{pod}-gpu-{number:05x}",
            "generateName": f"{pod}-gpu-",
            "namespace": f"team-{number // CLAIMS_IN_A_NAMESPACE:03d}",
            "uid": str(uuid5(NAMESPACE_URL, f"claim/{number}")),
            "resourceVersion": version,
            "creationTimestamp": created_at(number),
            "annotations": {"resource.kubernetes.io/pod-claim-name": "gpu"},
            "finalizers": ["resource.kubernetes.io/delete-protection"],
            "ownerReferences": [
                {
                    "apiVersion": "v1",
                    "kind": "Pod",
                    "name": pod,
                    "uid": str(uuid5(NAMESPACE_URL, f"pod/{number}")),
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
            "managedFields": [
                _managed(number, "kube-controller-manager", "f:metadata", "f:annotations"),
                _managed(
                    number,
                    "kube-scheduler",
                    "f:status",
                    "f:allocation",
                    "f:reservedFor",
                ),
            ],
        },
        "spec": {"devices": {"requests": [request]}},
        "status": {},
    }


def _held(number: int, node: str, gpu: str, *, reserved: bool) -> JsonObject:
    result: JsonObject = {"request": "gpu", "driver": DRIVER, "pool": node, "device": gpu}
    field: JsonObject = {"key": "metadata.name", "operator": "In", "values": [node]}
    status: JsonObject = {
        "allocation": {
            "allocationTimestamp": created_at(number),
            "devices": {"results": [result]},
            "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [field]}]},
        }
    }
    if reserved:
        uid = str(uuid5(NAMESPACE_URL, f"pod/{number}"))
        status["reservedFor"] = [{"resource": "pods", "name": f"train-{number}", "uid": uid}]
    return status


def _managed(number: int, manager: str, outer: str, *inner: str) -> JsonObject:
    return {
        "manager": manager,
        "operation": "Update",
        "apiVersion": "resource.k8s.io/v1",
        "time": created_at(number),
        "fieldsType": "FieldsV1",
        "fieldsV1": {outer: {name: {} for name in inner}},
    }
