"""What the agent says of a claim's devices in its status (KEP 4817), at a real API server."""

from typing import Any

import pytest

from nodeagent.claims.device_status import DeviceStatus
from nodeagent.claims.entry import Entry
from nodeagent.fields import JsonObject
from nodeagent.kube.client import Client
from nodeagent.kube.resources import Resources
from tests.builders.agents import a_planned_device, an_entry
from tests.builders.objects import DRIVER, NODE, a_claim, a_result, an_allocation
from tests.cluster.rig import Cluster

NAMESPACE = "default"
CLAIMS = f"/apis/resource.k8s.io/v1/namespaces/{NAMESPACE}/resourceclaims"


class Told:
    """A claim in the cluster, its entry on the node, and what is told of it."""

    def __init__(
        self, cluster: Cluster, name: str, *others: JsonObject, error: str | None = None
    ) -> None:
        self._api = cluster.api
        self._path = f"{CLAIMS}/{name}"
        created: Any = self._api.create(CLAIMS, {**a_claim(name), "metadata": {"name": name}})
        results = (a_result("gpu-0"), *others)
        allocated = {**created, "status": {"allocation": an_allocation(*results)}}
        self._api.request("PUT", f"{self._path}/status", allocated)
        self.uid = str(created["metadata"]["uid"])
        self.entries: dict[str, Entry] = {}
        self.put(uid=self.uid, name=name, namespace=NAMESPACE, error=error)
        client = Client.from_kubeconfig(str(cluster.kubeconfig))
        resources = Resources(client, driver=DRIVER, node_name=NODE)
        self.status = DeviceStatus(resources, lambda: self.entries, driver=DRIVER)

    def put(self, *, uid: str, name: str, namespace: str, **fields: Any) -> None:
        device = a_planned_device("gpu-0", uuid="GPU-0", parent_uuid="GPU-0")
        entry = an_entry(uid, device, name=name, namespace=namespace, **fields)
        self.entries = {uid: entry}

    def devices(self) -> list[dict[str, Any]]:
        claim: Any = self._api.get(self._path)
        found: list[dict[str, Any]] = claim["status"].get("devices", [])
        return found


def test_a_prepared_device_is_told_and_taken_back_with_its_claim(cluster: Cluster) -> None:
    told = Told(cluster, "whole-way")

    assert told.status.write_due()
    (device,) = told.devices()
    assert (device["driver"], device["pool"], device["device"]) == (DRIVER, NODE, "gpu-0")
    assert device["data"] == {"uuid": "GPU-0"}
    (condition,) = device["conditions"]
    assert (condition["type"], condition["status"]) == ("Ready", "True")

    told.entries.clear()
    assert told.status.write_due()
    assert told.devices() == []


def test_a_device_that_cannot_be_served_says_so(cluster: Cluster) -> None:
    told = Told(cluster, "unserved", error="device gpu-0 (GPU-0) is gone from this node")

    assert told.status.write_due()

    (condition,) = told.devices()[0]["conditions"]
    assert (condition["status"], condition["reason"]) == ("False", "CannotBeServed")
    assert "is gone from this node" in condition["message"]


def test_what_others_say_of_their_devices_stays(cluster: Cluster) -> None:
    told = Told(cluster, "beside-others", a_result("nic-0", driver="nic.example"))
    claim: Any = cluster.api.get(f"{CLAIMS}/beside-others")
    claim["status"]["devices"] = [{"driver": "nic.example", "pool": NODE, "device": "nic-0"}]
    cluster.api.request("PUT", f"{CLAIMS}/beside-others/status", {**claim})

    told.status.write_due()
    told.entries.clear()
    told.status.write_due()

    assert [device["device"] for device in told.devices()] == ["nic-0"]


@pytest.mark.parametrize("name", ["replaced", "never-there"])
def test_a_claim_that_is_gone_is_not_asked_about_again(cluster: Cluster, name: str) -> None:
    told = Told(cluster, "replaced") if name == "replaced" else Told(cluster, "bystander")
    told.put(uid="another-uid", name=name, namespace=NAMESPACE)

    assert told.status.write_due()
    assert told.devices() == []
