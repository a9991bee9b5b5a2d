"""kube-scheduler understands what the agent publishes: shares of a GPU, counters of its parts."""

from functools import partial
from typing import Any

import pytest

from nodeagent.devices.model import Inventory, Source
from tests.builders.agents import a_gpu
from tests.builders.publication import hopper_inventory
from tests.cluster.publishing import NODE, devices_of, publishing, settled
from tests.cluster.rig import Cluster
from tests.cluster.workloads import (
    CLAIMS,
    PODS,
    a_device_class,
    a_pod,
    a_template,
    claim_of,
    eventually,
)

OWN_ATTRIBUTES = "device.attributes['gpu.nvidia.com']"


@pytest.fixture(scope="module")
def cluster_options() -> dict[str, Any]:
    return {"controllers": ("*",), "scheduler": True}


@pytest.fixture(scope="module", autouse=True)
def _node(cluster: Cluster) -> None:
    cluster.add_node(NODE)
    a_device_class(cluster)


def allocated(cluster: Cluster, pod: str) -> dict[str, Any] | None:
    """The one result of a pod's claim, once it has one."""
    allocation = (claim_of(cluster, pod) or {}).get("status", {}).get("allocation")
    if allocation is None:
        return None
    (result,) = allocation["devices"]["results"]
    assert isinstance(result, dict)
    return result


def result_of(cluster: Cluster, pod: str) -> dict[str, Any]:
    """Wait for the result of a pod's claim."""
    found = eventually(partial(allocated, cluster, pod))
    assert found is not None
    return found


def waits(cluster: Cluster, pod: str, template: str) -> None:
    """Make a pod, and see the scheduler find no place for it."""
    a_pod(cluster, pod, "true", template=template)

    def is_told_so() -> bool:
        conditions = cluster.api.get(f"{PODS}/{pod}")["status"].get("conditions", [])
        return any(one.get("reason") == "Unschedulable" for one in conditions)

    eventually(is_told_so)


def end(cluster: Cluster, *pods: str) -> None:
    """Delete pods and wait until their claims are gone as well."""
    for pod in pods:
        cluster.api.delete(f"{PODS}/{pod}?gracePeriodSeconds=0")
    eventually(lambda: not cluster.api.get(CLAIMS)["items"])


def test_claims_share_a_gpu_up_to_its_memory_and_one_that_asks_for_no_share_is_alone(
    cluster: Cluster,
) -> None:
    share = {"capacity": {"requests": {"memory": "10Gi"}}}
    a_template(cluster, "share", **share)
    a_template(cluster, "whole")
    inventory = Inventory.of([a_gpu(0)], source=Source.SIMULATED)
    with publishing(cluster, shares=2) as running:
        running.publisher.offer(inventory)
        settled(cluster, lambda specs: list(devices_of(specs)) == ["gpu-0"])

        for pod in ("first", "second"):
            a_pod(cluster, pod, "true", template="share")
        results = [result_of(cluster, pod) for pod in ("first", "second")]
        waits(cluster, "third", "share")
        waits(cluster, "alone", "whole")

        assert {result["device"] for result in results} == {"gpu-0"}
        assert len({result["shareID"] for result in results}) == 2
        assert {result["consumedCapacity"]["memory"] for result in results} == {"40Gi"}
        end(cluster, "first", "second", "third", "alone")
        a_pod(cluster, "alone-again", "true", template="whole")
        assert result_of(cluster, "alone-again")["consumedCapacity"]["memory"] == "80Gi"
        end(cluster, "alone-again")


def test_a_whole_gpu_and_its_partitions_exclude_each_other(cluster: Cluster) -> None:
    def selected(expression: str) -> list[dict[str, Any]]:
        return [{"cel": {"expression": expression.replace("OWN", OWN_ATTRIBUTES)}}]

    a_template(cluster, "half", selectors=selected("OWN.type == 'mig' && OWN.profile == '3g.40gb'"))
    a_template(cluster, "undivided", selectors=selected("OWN.type == 'gpu'"))
    with publishing(cluster) as running:
        running.publisher.offer(hopper_inventory(1))
        expected = {device.name for device in hopper_inventory(1).devices}
        settled(cluster, lambda specs: set(devices_of(specs)) == expected)

        for pod in ("left", "right"):
            a_pod(cluster, pod, "true", template="half")
        results = [result_of(cluster, pod) for pod in ("left", "right")]
        waits(cluster, "too-much", "half")
        waits(cluster, "undivided", "undivided")

        assert {result["device"][-4:] for result in results} == {"-9-0", "-9-4"}
        end(cluster, "left", "right", "too-much", "undivided")
        a_pod(cluster, "whole", "true", template="undivided")
        assert result_of(cluster, "whole")["device"] == "gpu-0"
        end(cluster, "whole")
