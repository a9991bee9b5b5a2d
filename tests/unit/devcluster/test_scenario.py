from pathlib import Path

import pytest

from dra_console.allocator.model import JsonObject
from dra_console.allocator.validation.validate import validate_class
from dra_console.devcluster.authn import Identity
from dra_console.devcluster.authz import Attributes
from dra_console.devcluster.scenario import create_missing, scenario
from dra_console.devcluster.scenario_policy import demo_policy
from dra_console.devcluster.store import Store
from dra_console.kube.kinds import DEVICE_CLASSES, NAMESPACES, NODES, Kind

AUTHENTICATED = "system:authenticated"
ADMIN = Identity("admin", ("gpu-admins", AUTHENTICATED))
RESEARCHER = Identity("researcher", ("team-research", AUTHENTICATED))
CONSOLE = Identity("system:serviceaccount:dra-console:dra-console", (AUTHENTICATED,))
AGENT = Identity("system:serviceaccount:dra-console:dra-nodeagent", (AUTHENTICATED,))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "cluster.db")


def names(store: Store, kind: Kind) -> list[str]:
    return [each.name for each in store.at(store.resource_version, kind, namespace=None)]


def test_the_demo_has_its_namespaces_classes_and_nodes(store: Store) -> None:
    create_missing(store, scenario("demo").objects)

    assert names(store, NAMESPACES) == [
        "default",
        "dra-console",
        "kube-system",
        "team-research",
        "team-vision",
    ]
    assert names(store, DEVICE_CLASSES) == ["gpu.nvidia.com", "l4.nvidia.com", "mig.nvidia.com"]
    assert names(store, NODES) == ["gpu-01", "gpu-02", "gpu-03", "l4-01", "l4-02", "mig-01"]


def test_the_demos_classes_are_valid() -> None:
    classes = [built for kind, built in scenario("demo").objects if kind == DEVICE_CLASSES]

    assert [validate_class(completed(built)) for built in classes] == [(), (), ()]


def completed(built: JsonObject) -> JsonObject:
    return {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", **built}


def test_the_empty_scenario_has_the_system_namespaces_only(store: Store) -> None:
    create_missing(store, scenario("empty").objects)

    assert names(store, NAMESPACES) == ["default", "kube-system"]
    assert names(store, NODES) == []


def test_what_is_there_is_left_as_it_is(store: Store) -> None:
    create_missing(store, scenario("demo").objects)
    version = store.resource_version

    create_missing(store, scenario("demo").objects)

    assert store.resource_version == version


def test_a_namespace_that_is_being_deleted_is_not_filled_again(store: Store) -> None:
    create_missing(store, scenario("demo").objects)
    store.delete(NAMESPACES, "", "team-vision")

    create_missing(store, scenario("demo").objects)


@pytest.mark.parametrize(
    ("identity", "verb", "resource", "namespace", "allowed"),
    [
        (ADMIN, "delete", "nodes", "", True),
        (ADMIN, "create", "devicetaintrules", "", True),
        (RESEARCHER, "create", "resourceclaims", "team-research", True),
        (RESEARCHER, "delete", "pods", "team-research", True),
        (RESEARCHER, "list", "resourceclaims", "team-vision", False),
        (RESEARCHER, "list", "resourceclaims", "", False),
        (RESEARCHER, "watch", "resourceslices", "", True),
        (RESEARCHER, "get", "devicetaintrules", "", True),
        (RESEARCHER, "create", "devicetaintrules", "", False),
        (RESEARCHER, "impersonate", "users", "", False),
        (CONSOLE, "list", "resourceclaims", "", True),
        (CONSOLE, "impersonate", "groups", "", True),
        (CONSOLE, "create", "tokenreviews", "", True),
        (CONSOLE, "delete", "nodes", "", False),
        (AGENT, "create", "resourceslices", "", True),
        (AGENT, "get", "resourceclaims", "team-research", True),
        (AGENT, "delete", "pods", "team-research", False),
    ],
)
def test_the_demos_rights(
    identity: Identity,
    verb: str,
    resource: str,
    namespace: str,
    allowed: bool,
) -> None:
    attributes = Attributes(verb=verb, group="", resource=resource, namespace=namespace)

    assert demo_policy().allows(identity, attributes) is allowed


@pytest.mark.parametrize(("subresource", "allowed"), [("status", True), ("", False)])
def test_an_agent_writes_a_claims_status_only(subresource: str, allowed: bool) -> None:
    attributes = Attributes(
        verb="patch",
        group="resource.k8s.io",
        resource="resourceclaims",
        subresource=subresource,
        namespace="team-research",
    )

    assert demo_policy().allows(AGENT, attributes) is allowed
