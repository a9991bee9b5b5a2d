"""The rig's controller manager and scheduler work on claims as in any cluster."""

from typing import Any

import pytest

from tests.cluster.rig import Cluster
from tests.cluster.workloads import (
    DRIVER,
    PODS,
    RESOURCES,
    a_device_class,
    a_pod,
    a_template,
    claim_of,
    eventually,
)

NODE = "gpu-01"


@pytest.fixture(scope="module")
def cluster_options() -> dict[str, Any]:
    return {"controllers": ("*",), "scheduler": True}


def published(cluster: Cluster, device: str) -> None:
    pool = {"name": NODE, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "nodeName": NODE, "pool": pool, "devices": [{"name": device}]}
    body = {"metadata": {"name": f"{NODE}-slice"}, "spec": spec}
    cluster.api.create(f"{RESOURCES}/resourceslices", body)


def test_a_pods_claim_is_made_allocated_and_reserved(cluster: Cluster) -> None:
    cluster.add_node(NODE)
    a_device_class(cluster)
    a_template(cluster)
    a_pod(cluster, "train", "true", template="gpu")

    claim = eventually(lambda: claim_of(cluster, "train"))
    assert claim is not None
    assert claim["metadata"]["annotations"]["resource.kubernetes.io/pod-claim-name"] == "gpu"
    assert "allocation" not in claim.get("status", {}), "there is no device yet"

    published(cluster, "gpu-0")

    def allocated() -> Any:
        seen = claim_of(cluster, "train") or {}
        return seen if seen.get("status", {}).get("reservedFor") else None

    status = eventually(allocated)["status"]
    (result,) = status["allocation"]["devices"]["results"]
    assert (result["driver"], result["pool"], result["device"]) == (DRIVER, NODE, "gpu-0")
    assert [each["name"] for each in status["reservedFor"]] == ["train"]
    eventually(lambda: cluster.api.get(f"{PODS}/train")["spec"].get("nodeName") == NODE)
