"""An agent and the embedded cluster's kubelet: from a bound pod to a CDI file and back."""

import json
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from dra_console.kube.client import Client
from dra_console.kube.errors import NotFoundError
from dra_console.kube.kinds import (
    NAMESPACES,
    NODES,
    PODS,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_CLAIMS,
)
from nodeagent.fields import JsonObject
from tests.builders.objects import NAMESPACE, a_result, an_allocation
from tests.integration.devclusters import Devcluster, running_devcluster
from tests.integration.nodeagent.rig import AgentProcess, ApiServer, eventually

pytestmark = pytest.mark.long

CDI_ANNOTATION = "devcluster.dra-console.io/cdi-devices"

_numbers = count(1)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Devcluster]:
    with running_devcluster(tmp_path_factory.mktemp("kubelets")) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def api(cluster: Devcluster) -> ApiServer:
    api = ApiServer(Client.from_kubeconfig(str(cluster.kubeconfig)))
    api.client.create(
        NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    )
    request: JsonObject = {"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com"}}
    api.client.create(
        RESOURCE_CLAIM_TEMPLATES,
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaimTemplate",
            "metadata": {"name": "one-gpu", "namespace": NAMESPACE},
            "spec": {"spec": {"devices": {"requests": [request]}}},
        },
        namespace=NAMESPACE,
    )
    return api


@pytest.fixture
def agent(cluster: Devcluster, api: ApiServer) -> Iterator[AgentProcess]:
    """An agent that the kubelet of a node of its own has registered."""
    node = f"gpu-{next(_numbers):02}"
    api.client.create(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": node}})
    agent = AgentProcess(node, cluster.nodes_dir / node, cluster.kubeconfig)
    agent.start()
    eventually(lambda: agent.said("registered with kubelet"))
    yield agent
    if agent.process.poll() is None:
        agent.kill()


def start_pod(api: ApiServer, node: str, device: str) -> dict[str, Any]:
    """Create a node's pod with a claim of its own, and do the scheduler's work for it."""
    name = f"pod-of-{node}"
    api.client.create(
        PODS,
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {
                "schedulerName": "the-test",
                "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}],
                "containers": [
                    {
                        "name": "main",
                        "image": "registry.k8s.io/pause:3.10",
                        "resources": {"claims": [{"name": "gpu"}]},
                    }
                ],
            },
        },
        namespace=NAMESPACE,
    )
    pod: Any = api.client.get(PODS, name, namespace=NAMESPACE)
    claim: Any = eventually(lambda: claim_of(api, name))
    status: JsonObject = {
        "allocation": an_allocation(a_result(device, pool=node), node=node),
        "reservedFor": [{"resource": "pods", "name": name, "uid": pod["metadata"]["uid"]}],
    }
    api.client.replace(RESOURCE_CLAIMS, {**claim, "status": status}, subresource="status")
    api.client.bind_pod(NAMESPACE, name, node_name=node, uid=pod["metadata"]["uid"])
    found: dict[str, Any] = claim
    return found


def claim_of(api: ApiServer, pod: str) -> JsonObject | None:
    claims = api.client.list(RESOURCE_CLAIMS, namespace=NAMESPACE).items
    names: list[Any] = [claim["metadata"] for claim in claims]
    return next(
        (
            claim
            for claim, name in zip(claims, names, strict=True)
            if name["name"].startswith(f"{pod}-gpu-")
        ),
        None,
    )


def running_pod(api: ApiServer, node: str) -> dict[str, Any]:
    pod: Any = api.client.get(PODS, f"pod-of-{node}", namespace=NAMESPACE)
    return pod if pod["status"].get("phase") == "Running" else {}


def delete_pod(api: ApiServer, node: str) -> None:
    api.client.delete(PODS, f"pod-of-{node}", namespace=NAMESPACE)


def pod_is_gone(api: ApiServer, node: str) -> bool:
    try:
        api.client.get(PODS, f"pod-of-{node}", namespace=NAMESPACE)
    except NotFoundError:
        return True
    return False


def test_a_pod_gets_its_device_and_gives_it_back(api: ApiServer, agent: AgentProcess) -> None:
    claim = start_pod(api, agent.node, "gpu-5")
    uid = claim["metadata"]["uid"]

    pod = eventually(lambda: running_pod(api, agent.node))

    assert json.loads(pod["metadata"]["annotations"][CDI_ANNOTATION]) == {
        "main": [f"k8s.gpu.nvidia.com/claim={uid}-gpu-5"]
    }
    assert agent.cdi_files() == {uid}
    assert agent.completed() == {uid: ["gpu-5"]}

    delete_pod(api, agent.node)
    eventually(lambda: pod_is_gone(api, agent.node))
    assert agent.cdi_files() == set()
    assert agent.completed() == {}


def test_a_pod_that_ends_while_the_agent_is_away_is_undone_when_it_is_back(
    api: ApiServer, agent: AgentProcess
) -> None:
    start_pod(api, agent.node, "gpu-0")
    eventually(lambda: running_pod(api, agent.node))

    agent.kill()
    delete_pod(api, agent.node)
    agent.start()
    agent.wait_until_it_serves()

    eventually(lambda: pod_is_gone(api, agent.node))
    assert agent.cdi_files() == set()


def test_a_pod_that_starts_while_the_agent_is_away_starts_when_it_is_back(
    api: ApiServer, agent: AgentProcess
) -> None:
    agent.kill()
    start_pod(api, agent.node, "gpu-0")

    agent.start()

    assert eventually(lambda: running_pod(api, agent.node))


def test_kubelet_and_api_server_may_die_and_come_back(
    cluster: Devcluster, api: ApiServer, agent: AgentProcess
) -> None:
    claim = start_pod(api, agent.node, "gpu-0")
    eventually(lambda: running_pod(api, agent.node))
    slices = eventually(lambda: api.has_whole_pool(agent.node))
    before = {one["metadata"]["name"] for one in slices}

    cluster.kill()
    cluster.start()

    def has_new_slices() -> bool:
        slices = api.has_whole_pool(agent.node)
        return bool(slices) and before.isdisjoint(one["metadata"]["name"] for one in slices)

    eventually(has_new_slices)
    assert running_pod(api, agent.node)
    assert agent.completed() == {claim["metadata"]["uid"]: ["gpu-0"]}
    delete_pod(api, agent.node)
    eventually(lambda: pod_is_gone(api, agent.node))
    assert agent.cdi_files() == set()
