"""What `deploy/node-agent` lets an agent do at a real API server, with tokens as pods get them.

Acceptance 10 of the node agent: the token of one node cannot write another node's slices, nor
slices without a node, in any served version of the API.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from nodeagent.commands import server
from nodeagent.commands.verdict import Grade, Verdict
from nodeagent.config import parse
from nodeagent.kube.client import Client
from tests.cluster.rig import Cluster
from tests.cluster.rig.api import Api, ApiError
from tests.cluster.workloads import eventually
from tests.deployment import manifests, the

NODES = ("gpu-01", "gpu-02")
VERSIONS = ("v1", "v1beta2", "v1beta1")
DRIVER = "gpu.nvidia.com"
COLLECTIONS = {
    "Namespace": "/api/v1/namespaces",
    "ServiceAccount": "/api/v1/namespaces/dra-console/serviceaccounts",
    "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "ValidatingAdmissionPolicy": (
        "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
    ),
    "ValidatingAdmissionPolicyBinding": (
        "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
    ),
    "DeviceClass": "/apis/resource.k8s.io/v1/deviceclasses",
    "DaemonSet": "/apis/apps/v1/namespaces/dra-console/daemonsets",
}


@dataclass(frozen=True, slots=True)
class Deployed:
    """A cluster with the agent's objects, and the agents' ways in by node."""

    cluster: Cluster
    agents: dict[str, Api]
    tokens: dict[str, str]
    nameless: Api
    """With a token of the account that no pod has."""

    def create(self, name: str, *, version: str = "v1", **spec: Any) -> None:
        """Make a slice as the administrator."""
        self.cluster.api.create(slices(version), a_slice(name, **spec))


def slices(version: str, name: str = "") -> str:
    return f"/apis/resource.k8s.io/{version}/resourceslices" + (f"/{name}" if name else "")


def a_slice(name: str, *, driver: str = DRIVER, **where: Any) -> dict[str, Any]:
    pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": driver, "pool": pool, "devices": [], **where}
    return {"metadata": {"name": name}, "spec": spec}


@pytest.fixture(scope="module")
def deployed(cluster: Cluster) -> Deployed:
    for one in manifests():
        path = COLLECTIONS[one["kind"]] + "?fieldValidation=Strict"
        cluster.api.create(path, one)
    agents, tokens = {}, {}
    for node in NODES:
        cluster.add_node(node)
        tokens[node] = pod_bound_token(cluster, node)
        agents[node] = Api(cluster.url, authority=cluster.authority, token=tokens[node])
    nameless = Api(cluster.url, authority=cluster.authority, token=token(cluster, {}))
    deployed = Deployed(cluster, agents, tokens, nameless)

    def is_in_force() -> bool:
        body = a_slice("early", nodeName=NODES[1])
        try:
            agents[NODES[0]].create(slices("v1") + "?dryRun=All", body)
        except ApiError as error:
            return is_of_policy(error)
        return False

    # The API server reads a new policy a moment after it was made.
    eventually(is_in_force)
    return deployed


def pod_bound_token(cluster: Cluster, node: str) -> str:
    """Get a token as kubelet gets it for the agent's pod on a node."""
    daemonset = the("DaemonSet")
    template = daemonset["spec"]["template"]
    pod = cluster.api.create(
        "/api/v1/namespaces/dra-console/pods",
        {
            "metadata": {"name": f"agent-{node}"},
            "spec": {**template["spec"], "nodeName": node},
        },
    )
    reference = {"kind": "Pod", "apiVersion": "v1"}
    names = {"name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]}
    return token(cluster, {"boundObjectRef": {**reference, **names}})


def token(cluster: Cluster, spec: dict[str, Any]) -> str:
    account = the("ServiceAccount")["metadata"]["name"]
    path = f"{COLLECTIONS['ServiceAccount']}/{account}/token"
    made = cluster.api.create(path, {"spec": {"expirationSeconds": 3600, **spec}})
    return str(made["status"]["token"])


def is_of_policy(error: ApiError) -> bool:
    return "ValidatingAdmissionPolicy 'dra-nodeagent-own-node'" in str(error)


def refused(agent: Api, method: str, path: str, body: dict[str, Any] | None = None) -> str:
    with pytest.raises(ApiError) as caught:
        agent.request(method, path, body)
    assert is_of_policy(caught.value), caught.value
    return str(caught.value)


@pytest.mark.parametrize("version", VERSIONS)
def test_an_agent_writes_its_own_nodes_slices(deployed: Deployed, version: str) -> None:
    agent, name = deployed.agents["gpu-01"], f"own-{version}"

    made = agent.create(slices(version), a_slice(name, nodeName="gpu-01"))
    agent.request("PUT", slices(version, name), made)
    agent.delete(slices(version, name))


@pytest.mark.parametrize("version", VERSIONS)
def test_an_agent_cannot_touch_another_nodes_slices(deployed: Deployed, version: str) -> None:
    agent, name = deployed.agents["gpu-01"], f"of-gpu-02-{version}"
    deployed.create(name, nodeName="gpu-02")
    there = deployed.cluster.api.get(slices(version, name))

    told = refused(agent, "POST", slices(version), a_slice("foreign", nodeName="gpu-02"))
    assert "the agent of node gpu-01 can write slices of that node only" in told
    refused(agent, "PUT", slices(version, name), {**there, "metadata": {**there["metadata"]}})
    refused(agent, "DELETE", slices(version, name))

    assert deployed.cluster.api.get(slices(version, name)) == there


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    "where",
    [
        {"allNodes": True},
        {
            "nodeSelector": {
                "nodeSelectorTerms": [
                    {
                        "matchFields": [
                            {"key": "metadata.name", "operator": "In", "values": ["gpu-01"]}
                        ]
                    }
                ]
            }
        },
    ],
    ids=["all nodes", "a selector that fits its own node"],
)
def test_an_agent_cannot_touch_slices_without_a_node(
    deployed: Deployed, version: str, where: dict[str, Any]
) -> None:
    agent, name = deployed.agents["gpu-01"], f"no-node-{version}-{next(iter(where)).lower()}"
    deployed.create(name, **where)
    there = deployed.cluster.api.get(slices(version, name))

    refused(agent, "POST", slices(version), a_slice("nobodys", **where))
    refused(agent, "PUT", slices(version, name), there)
    refused(agent, "DELETE", slices(version, name))


@pytest.mark.parametrize("version", VERSIONS)
def test_an_agent_cannot_write_slices_of_another_driver(deployed: Deployed, version: str) -> None:
    body = a_slice("foreign", nodeName="gpu-01", driver="nic.example")

    told = refused(deployed.agents["gpu-01"], "POST", slices(version), body)

    assert "slices of driver gpu.nvidia.com only" in told


def test_a_token_that_names_no_node_writes_nothing(deployed: Deployed) -> None:
    body = a_slice("nameless", nodeName="gpu-01")

    assert "token names no node" in refused(deployed.nameless, "POST", slices("v1"), body)


def test_a_collection_cannot_be_deleted(deployed: Deployed) -> None:
    with pytest.raises(ApiError) as caught:
        deployed.agents["gpu-01"].delete(slices("v1"))

    assert caught.value.status == 403
    assert "deletecollection" in str(caught.value)


def checked(kubeconfig: Path, node: str) -> dict[str, Verdict]:
    """Return what `--check` says of the API server, by subject."""
    config = parse(["--node-name", node, "--device-status"])
    found = server.verdicts(Client.from_kubeconfig(str(kubeconfig)), config)
    return {one.subject: one for one in found}


def test_the_check_finds_rights_complete_and_the_agent_confined(deployed: Deployed) -> None:
    cluster = deployed.cluster
    kubeconfig = cluster.home.write_kubeconfig(
        "agent-gpu-01", cluster.url, token=deployed.tokens["gpu-01"]
    )

    found = checked(kubeconfig, "gpu-01")

    assert found["rights"].grade is Grade.GOOD
    assert found["admission"].grade is Grade.GOOD
    assert "serves resource.k8s.io/v1" in found["API server"].text
    slices_now = cluster.api.get(slices("v1"))["items"]
    assert not [one for one in slices_now if "check" in one["metadata"]["name"]]


def test_the_check_names_rights_that_are_missing(deployed: Deployed) -> None:
    account = deployed.cluster.service_account("powerless")

    found = checked(account.kubeconfig, "gpu-01")

    assert found["rights"].grade is Grade.FAULT
    assert "watch resourceslices.resource.k8s.io" in found["rights"].text
    assert "patch resourceclaims/status.resource.k8s.io" in found["rights"].text


def test_the_check_warns_of_an_agent_that_nothing_confines(deployed: Deployed) -> None:
    found = checked(deployed.cluster.kubeconfig, "gpu-01")

    assert found["admission"].grade is Grade.WARNING
    assert "could write the slices of any node" in found["admission"].text


@pytest.mark.parametrize(
    ("version", "grade", "word"),
    [
        ("v1.34.1", Grade.FAULT, "upgrade to 1.34.2"),
        ("v1.31.9", Grade.FAULT, "too old"),
        ("v1.37.2", Grade.GOOD, "v1.37.2"),
    ],
)
def test_the_check_judges_the_nodes_kubelet(
    deployed: Deployed, version: str, grade: Grade, word: str
) -> None:
    node = f"node-{version}"
    deployed.cluster.add_node(node)
    info = {"status": {"nodeInfo": {"kubeletVersion": version}}}
    deployed.cluster.api.patch(f"/api/v1/nodes/{node}/status", info)

    found = checked(deployed.cluster.kubeconfig, node)["kubelet"]

    assert (found.grade, word in found.text) == (grade, True), found
