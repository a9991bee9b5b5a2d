"""Releases and marks on a real API server, by people with the rights that a run's file grants."""

from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from django.contrib.auth.models import User

from dra_console.access.models import AuditEntry
from dra_console.kube.client import Client
from dra_console.kube.kinds import DEVICE_TAINT_RULES, RESOURCE_CLAIMS
from dra_console.mirror.models import Cluster as MirroredCluster
from dra_console.running.accounts import Person
from dra_console.running.rights import PEOPLE, rights_yaml
from dra_console.scheduling.coexistence.claim_findings import FINALIZER
from dra_console.scheduling.coexistence.foreign import OUR_MANAGER
from dra_console.scheduling.coexistence.managed_devices import (
    DeviceSelector,
    Marked,
    NotDone,
    concerned_by,
    mark,
)
from dra_console.scheduling.coexistence.managed_devices import Why as WhyNotMarked
from dra_console.scheduling.coexistence.reading import allocated_by
from dra_console.scheduling.coexistence.release import NotReleased, Released, Why, release
from tests.builders.accounts import an_account
from tests.builders.objects import a_claim, a_pod, an_allocation, unborn
from tests.cluster.conftest import StartCluster
from tests.cluster.rig import Cluster

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("redis_url"),
    pytest.mark.timeout(300),
]

RBAC = "/apis/rbac.authorization.k8s.io/v1"


@pytest.fixture
def console(cluster: Cluster) -> Iterator[Client]:
    """The console's own client; the rights of `rights.yaml` are granted."""
    for one in yaml.safe_load_all(rights_yaml(PEOPLE)):
        namespace = one["metadata"].get("namespace")
        base = RBAC if namespace is None else f"{RBAC}/namespaces/{namespace}"
        plural = f"{one['kind'].lower()}s"
        if not cluster.api.answers(f"{base}/{plural}/{one['metadata']['name']}"):
            cluster.api.create(f"{base}/{plural}", one)
    client = Client.from_kubeconfig(str(cluster.kubeconfig))
    yield client
    client.close()


@pytest.fixture
def mirrored(cluster: Cluster) -> MirroredCluster:
    return MirroredCluster.objects.create(name="lab", kubeconfig=str(cluster.kubeconfig))


def account_of(person: Person) -> User:
    return an_account(person.kubernetes_username, groups=person.groups)


def a_reserved_claim(console: Client, name: str, *, pod_uid: str) -> Any:
    """Store a claim that is allocated by us and reserved for pod `worker`."""
    claim: Any = unborn(a_claim(name, namespace="default"))
    claim["metadata"]["finalizers"] = [FINALIZER]
    created = console.create(RESOURCE_CLAIMS, claim, namespace="default")
    status: Any = {
        "allocation": an_allocation(),
        "reservedFor": [{"resource": "pods", "name": "worker", "uid": pod_uid}],
    }
    stored: Any = console.replace(
        RESOURCE_CLAIMS, {**created, "status": status}, subresource="status"
    )
    return stored


def test_the_server_notes_who_wrote_an_allocation(console: Client, cluster: Cluster) -> None:
    ours = a_reserved_claim(console, "ours", pod_uid="gone")
    assert allocated_by(ours["metadata"]) == OUR_MANAGER

    path = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/theirs"
    console.create(
        RESOURCE_CLAIMS, unborn(a_claim("theirs", namespace="default")), namespace="default"
    )
    theirs = cluster.api.patch(
        f"{path}/status?fieldManager=kube-scheduler", {"status": {"allocation": an_allocation()}}
    )
    assert allocated_by(theirs["metadata"]) == "kube-scheduler"


def test_an_admin_releases_what_no_pod_uses(console: Client, mirrored: MirroredCluster) -> None:
    admin, researcher = (account_of(person) for person in PEOPLE)
    claim = a_reserved_claim(console, "left-over", pod_uid="gone")
    version = claim["metadata"]["resourceVersion"]

    refused = release(researcher, mirrored, "default", "left-over", resource_version=version)
    done = release(admin, mirrored, "default", "left-over", resource_version=version)

    assert isinstance(refused, NotReleased)
    assert refused.why is Why.REFUSED
    assert "resourceclaims/status" in refused.message
    assert isinstance(done, Released), done
    status: Any = done.claim["status"]
    assert "allocation" not in status
    stored: Any = console.get(RESOURCE_CLAIMS, "left-over", namespace="default")
    assert not stored["metadata"].get("finalizers")
    assert AuditEntry.objects.filter(kubernetes_username="dra-console:admin").count() == 2


def test_a_claim_of_a_living_pod_is_left_alone(
    console: Client, cluster: Cluster, mirrored: MirroredCluster
) -> None:
    admin = account_of(PEOPLE[0])
    body: Any = unborn(a_pod("worker", namespace="default", claim="in-use", node="gpu-01"))
    pod = cluster.api.create("/api/v1/namespaces/default/pods", body)
    claim = a_reserved_claim(console, "in-use", pod_uid=pod["metadata"]["uid"])
    version = claim["metadata"]["resourceVersion"]

    in_use = release(admin, mirrored, "default", "in-use", resource_version=version)
    cluster.api.patch(
        "/api/v1/namespaces/default/pods/worker/status", {"status": {"phase": "Failed"}}
    )
    done = release(admin, mirrored, "default", "in-use", resource_version=version)

    assert isinstance(in_use, NotReleased)
    assert in_use.message == "Pod default/worker uses it: Pending on gpu-01."
    assert isinstance(done, Released), done


def test_an_admin_marks_devices_where_rules_are_served(
    console: Client, mirrored: MirroredCluster
) -> None:
    admin, researcher = (account_of(person) for person in PEOPLE)
    selector = DeviceSelector(driver="gpu.nvidia.com", pool="gpu-01")
    digest = concerned_by(mirrored, selector).digest

    refused = mark(researcher, mirrored, selector, seen_digest=digest)
    marked = mark(admin, mirrored, selector, seen_digest=digest)

    assert isinstance(refused, NotDone)
    assert isinstance(marked, Marked), marked
    rule: Any = console.get(DEVICE_TAINT_RULES, marked.name)
    assert rule["spec"]["deviceSelector"] == {"driver": "gpu.nvidia.com", "pool": "gpu-01"}
    assert rule["spec"]["taint"]["effect"] == "NoSchedule"


@pytest.mark.parametrize("version", ["v1beta2", "v1alpha3"])
def test_an_older_version_of_rules_will_do(start_cluster: StartCluster, version: str) -> None:
    running = start_cluster(resource_versions=("v1beta1", version))
    mirrored = MirroredCluster.objects.create(name="old", kubeconfig=str(running.kubeconfig))
    root = an_account("root", groups=("cluster-admins",))
    running.grant(
        "root",
        {"kind": "Group", "name": "cluster-admins"},
        {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
    )
    selector = DeviceSelector(driver="gpu.nvidia.com")
    digest = concerned_by(mirrored, selector).digest

    marked = mark(root, mirrored, selector, seen_digest=digest)

    assert isinstance(marked, Marked), marked


def test_a_server_without_rules_is_named_as_the_reason(start_cluster: StartCluster) -> None:
    running = start_cluster(resource_versions=("v1beta1",))
    mirrored = MirroredCluster.objects.create(name="old", kubeconfig=str(running.kubeconfig))
    selector = DeviceSelector(driver="gpu.nvidia.com")
    digest = concerned_by(mirrored, selector).digest

    refused = mark(an_account("admin"), mirrored, selector, seen_digest=digest)

    assert isinstance(refused, NotDone)
    assert refused.why is WhyNotMarked.NOT_SERVED
    assert refused.message.startswith("This cluster serves no DeviceTaintRule")
