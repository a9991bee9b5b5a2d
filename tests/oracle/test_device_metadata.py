"""What we write about devices, read by Kubernetes' own reader for workloads."""

import json
import subprocess

from nodeagent.cdi.metadata import Description
from nodeagent.fields import JsonObject
from nodeagent.preparing import attributes_in_slice
from tests.builders.agents import a_mig_inventory
from tests.oracle.go import oracle_binary


def test_a_workload_reads_every_attribute_that_the_agent_writes() -> None:
    inventory = a_mig_inventory()
    devices: tuple[JsonObject, ...] = tuple(
        {
            "driver": "gpu.nvidia.com",
            "pool": "node-1",
            "name": device.name,
            "attributes": dict(attributes_in_slice(device, inventory.source)),
        }
        for device in inventory.devices
    )
    description = Description(
        claim_namespace="lab",
        claim_name="train-gpu-x7k2p",
        claim_uid="77777777-0000-4000-8000-000000000001",
        pod_claim_name="gpu",
        request="gpu/half",
        devices=devices,
    )

    finished = subprocess.run(
        [oracle_binary(), "metadata"],
        input=description.to_stream(generation=3),
        capture_output=True,
        check=False,
    )

    assert finished.returncode == 0, finished.stderr
    read = json.loads(finished.stdout)
    assert read["apiVersion"] == "metadata.resource.k8s.io/v1beta1"
    assert (read["name"], read["generation"]) == ("train-gpu-x7k2p", 3)
    assert read["podClaimName"] == "gpu"
    (request,) = read["requests"]
    assert request["Name"] == "gpu/half"
    assert [
        {
            "driver": device["Driver"],
            "pool": device["Pool"],
            "name": device["Name"],
            "attributes": device["Attributes"],
        }
        for device in request["Devices"]
    ] == list(devices)
