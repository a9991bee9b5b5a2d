"""The console on servers without v1: what it mirrors, and what it allocates."""

from typing import Any

import pytest
from django.core.management import call_command

from dra_console.allocator.model import JsonObject
from dra_console.kube.client import Client
from dra_console.kube.kinds import (
    DEVICE_CLASSES,
    NAMESPACES,
    PODS,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    Kind,
)
from dra_console.leases import lease
from dra_console.mirror.models import Cluster, Cursor, Device, ResourceClaim, ResourceSlice
from tests.builders.objects import (
    NAMESPACE,
    NODE,
    a_claim,
    a_class,
    a_namespace,
    a_pod,
    a_request,
    a_slice,
    unborn,
)
from tests.cluster.conftest import StartCluster
from tests.integration.scheduling.once import allocate_once
from tests.integration.sync.windows import follow_for

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("redis_url"),
    pytest.mark.timeout(300),
]

CLAIM_PATH = f"/apis/resource.k8s.io/{{}}/namespaces/{NAMESPACE}/resourceclaims/train"


def create(client: Client, kind: Kind, one: JsonObject) -> None:
    born: Any = unborn(one)
    client.create(kind, born, namespace=born["metadata"].get("namespace"))


def bare(name: str) -> JsonObject:
    return {"name": name, "capacity": {"memory": {"value": "80Gi"}}}


# Before v1beta2 DeviceTaintRules were served in v1alpha3.
@pytest.mark.parametrize("versions", [("v1beta2",), ("v1beta1", "v1alpha3")])
def test_a_pod_gets_its_devices_and_the_mirror_shows_them_as_v1(
    start_cluster: StartCluster, versions: tuple[str, ...]
) -> None:
    server = start_cluster(resource_versions=versions)
    cluster = Cluster.objects.create(name="old", kubeconfig=str(server.kubeconfig))
    client = Client.from_kubeconfig(str(server.kubeconfig))
    create(client, NAMESPACES, a_namespace())
    server.add_node(NODE)
    create(client, DEVICE_CLASSES, a_class())
    create(client, RESOURCE_SLICES, a_slice(devices=[*map(bare, ("gpu-0", "gpu-1"))]))
    create(client, RESOURCE_CLAIMS, a_claim(requests=[a_request(count=2)]))
    create(client, PODS, a_pod("train", claim="train"))

    call_command("sync_once", cluster="old")
    with lease(f"allocate:{cluster.pk}", seconds=30) as held:
        assert held is not None
        bound = allocate_once(cluster, held)
    for kind in (RESOURCE_CLAIMS, PODS):
        follow_for(cluster, kind=kind)

    assert bound == 1
    stored = server.api.get(CLAIM_PATH.format(versions[0]))
    [request] = stored["spec"]["devices"]["requests"]
    assert ("exactly" in request) == (versions[0] == "v1beta2")
    mirrored: Any = ResourceClaim.objects.get(cluster=cluster, name="train").raw
    assert mirrored["apiVersion"] == "resource.k8s.io/v1"
    assert mirrored["spec"]["devices"]["requests"][0]["exactly"]["count"] == 2
    assert mirrored["status"]["allocation"] == stored["status"]["allocation"]
    published: Any = ResourceSlice.objects.get(cluster=cluster).raw
    assert published["spec"]["devices"] == [*map(bare, ("gpu-0", "gpu-1"))]
    assert Device.objects.filter(cluster=cluster, node_name=NODE).count() == 2
    assert not Cursor.objects.get(cluster=cluster, plural="resourceclaims").error
    call_command("sync_check", cluster="old")
