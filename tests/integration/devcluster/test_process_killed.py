"""A devcluster process that is killed while pods use devices, and started again."""

from pathlib import Path

import pytest

from dra_console.devcluster.claims import FINALIZER
from dra_console.kube.client import Client
from dra_console.kube.errors import NotFoundError
from dra_console.kube.kinds import (
    NAMESPACES,
    NODES,
    PODS,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_CLAIMS,
)
from tests.builders.objects import (
    NAMESPACE,
    NODE,
    a_namespace,
    a_node,
    a_pod,
    a_template,
    an_allocation,
)
from tests.integration.devcluster.drivers import Driver
from tests.integration.devcluster.nodes import (
    eventually,
    metadata_of,
    status_of,
    uid_of,
    without_version,
)
from tests.integration.devclusters import running_devcluster

pytestmark = pytest.mark.long


def phase(client: Client, pod: str) -> str:
    try:
        return str(status_of(client.get(PODS, pod, namespace=NAMESPACE))["phase"])
    except NotFoundError:
        return "gone"


def claims(client: Client) -> list[str]:
    listed = client.list(RESOURCE_CLAIMS, namespace=NAMESPACE)
    return [str(metadata_of(claim)["name"]) for claim in listed.items]


def schedule(client: Client, *, claim: str, pod: str) -> None:
    """Do what a scheduler does for a pod with one claim."""
    stored = client.get(RESOURCE_CLAIMS, claim, namespace=NAMESPACE)
    metadata_of(stored)["finalizers"] = [FINALIZER]
    stored = client.replace(RESOURCE_CLAIMS, stored)
    uid = uid_of(client.get(PODS, pod, namespace=NAMESPACE))
    stored["status"] = {
        "allocation": an_allocation(),
        "reservedFor": [{"resource": "pods", "name": pod, "uid": uid}],
    }
    client.replace(RESOURCE_CLAIMS, stored, subresource="status")
    client.bind_pod(NAMESPACE, pod, node_name=NODE, uid=uid)


async def test_no_prepared_claim_is_lost(tmp_path: Path) -> None:
    with running_devcluster(tmp_path) as devcluster:
        client = Client.from_kubeconfig(str(devcluster.kubeconfig))
        for kind, built in (
            (NAMESPACES, a_namespace()),
            (NODES, a_node()),
            (RESOURCE_CLAIM_TEMPLATES, a_template()),
            (PODS, a_pod(template="one-gpu")),
        ):
            namespace = NAMESPACE if kind.namespaced else None
            client.create(kind, without_version(built), namespace=namespace)
        driver = Driver(devcluster.nodes_dir / NODE)
        await driver.start()
        try:
            await eventually(lambda: claims(client))
            (claim,) = claims(client)
            schedule(client, claim=claim, pod="train")
            await eventually(lambda: phase(client, "train") == "Running")

            devcluster.kill()
            devcluster.start()
            await eventually(lambda: driver.registered == [True, True])
            assert phase(client, "train") == "Running"
            assert driver.unprepare_calls == []

            client.delete(PODS, "train", namespace=NAMESPACE)
            await eventually(lambda: phase(client, "train") == "gone")
            await eventually(lambda: claims(client) == [])
        finally:
            await driver.stop()

    assert driver.prepare_calls == driver.unprepare_calls == [(claim,)]
