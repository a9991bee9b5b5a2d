"""Windows on a real API server: rights that come and go, backups, ends of namespaces."""

import shutil
import time
from collections.abc import Callable

import pytest
import redis

from dra_console.kube.kinds import (
    DEVICE_CLASSES,
    NAMESPACES,
    PODS,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_CLAIMS,
)
from dra_console.mirror.models import Cluster as MirroredCluster
from dra_console.mirror.models import DeviceClass, ResourceClaim
from dra_console.sync.follow import Ended
from tests.builders.objects import a_claim, a_class, a_pod, a_template, unborn
from tests.cluster.conftest import StartCluster
from tests.cluster.rig import Cluster
from tests.integration.sync.windows import cursor_of, differences, follow_for

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(600)]

DRA = "/apis/resource.k8s.io/v1"
CLASSES = f"{DRA}/deviceclasses"
CLAIMS = f"{DRA}/namespaces/default/resourceclaims"
MIRROR_ALL = {"apiGroups": ["", "resource.k8s.io"], "resources": ["*"], "verbs": ["list", "watch"]}
READ_NAMESPACE = {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get"]}
PATIENCE_SECONDS = 120


@pytest.fixture(autouse=True)
def no_leases(redis_url: str) -> None:
    client = redis.Redis.from_url(redis_url)
    client.flushdb()
    client.close()


def mirror(kubeconfig: object) -> MirroredCluster:
    return MirroredCluster.objects.create(name="lab", kubeconfig=str(kubeconfig))


def class_names() -> list[str]:
    return sorted(DeviceClass.objects.values_list("name", flat=True))


def test_a_kind_that_is_forbidden_is_mirrored_once_it_is_granted(cluster: Cluster) -> None:
    account = cluster.service_account("mirror", READ_NAMESPACE)
    lab = mirror(account.kubeconfig)
    cluster.api.create(CLASSES, unborn(a_class("one")))

    assert follow_for(lab, kind=DEVICE_CLASSES) is Ended.FAILED
    refused = cursor_of(lab, DEVICE_CLASSES)
    assert (refused.served, refused.resource_version) == (False, "")
    assert "forbidden" in refused.error
    assert class_names() == []

    subject = {"kind": "ServiceAccount", "name": "mirror", "namespace": "default"}
    cluster.grant("mirror-all", subject, MIRROR_ALL)
    assert follow_for(lab, kind=DEVICE_CLASSES) is Ended.OVER
    assert cursor_of(lab, DEVICE_CLASSES).served
    assert class_names() == ["one"]
    assert differences(lab, DEVICE_CLASSES) == {}


def test_what_happened_while_a_kind_was_not_served_is_seen_afterwards(
    start_cluster: StartCluster,
) -> None:
    cluster = start_cluster()
    lab = mirror(cluster.kubeconfig)
    for name in ("goes", "stays"):
        cluster.api.create(CLASSES, unborn(a_class(name)))
    follow_for(lab, kind=DEVICE_CLASSES)
    assert class_names() == ["goes", "stays"]

    cluster.api.delete(f"{CLASSES}/goes")
    cluster.apiserver.reconfigure(resource_versions=())
    assert follow_for(lab, kind=DEVICE_CLASSES) is Ended.FAILED
    assert not cursor_of(lab, DEVICE_CLASSES).served

    cluster.apiserver.reconfigure(resource_versions=("v1",))
    # What is served is asked anew only after a while.
    wait_until(lambda: follow_for(lab, kind=DEVICE_CLASSES) is Ended.OVER)
    assert class_names() == ["stays"]
    assert differences(lab, DEVICE_CLASSES) == {}


def test_a_cluster_that_was_set_back_to_a_backup_is_mirrored_as_it_is_then(
    start_cluster: StartCluster,
) -> None:
    cluster = start_cluster()
    lab = mirror(cluster.kubeconfig)
    data, backup = cluster.home.folder / "etcd", cluster.home.folder / "backup"
    cluster.api.create(CLAIMS, unborn(a_claim("before", namespace="default")))
    cluster.apiserver.stop()
    cluster.etcd.stop()
    shutil.copytree(data, backup)
    cluster.etcd.start()
    cluster.apiserver.start()
    for number in range(30):
        cluster.api.create(CLAIMS, unborn(a_claim(f"lost-{number}", namespace="default")))
    cluster.api.patch(f"{CLAIMS}/before", {"metadata": {"labels": {"is": "lost"}}})
    follow_for(lab)
    ahead = int(cursor_of(lab).resource_version)

    cluster.apiserver.stop()
    cluster.etcd.stop()
    shutil.rmtree(data)
    shutil.copytree(backup, data)
    cluster.etcd.start()
    cluster.apiserver.start()
    cluster.api.patch(f"{CLAIMS}/before", {"metadata": {"labels": {"is": "new"}}})
    assert follow_for(lab, seconds=30) is Ended.OVER

    assert int(cursor_of(lab).resource_version) < ahead
    assert [claim.name for claim in ResourceClaim.objects.all()] == ["before"]
    assert differences(lab) == {}


def test_a_namespace_takes_all_that_is_in_it_along(start_cluster: StartCluster) -> None:
    cluster = start_cluster(controllers=("*",))
    lab = mirror(cluster.kubeconfig)
    cluster.create_namespace("team")
    inside = f"{DRA}/namespaces/team"
    template = unborn(a_template("one-gpu", namespace="team"))
    cluster.api.create(f"{inside}/resourceclaimtemplates", template)
    for number in range(3):
        pod = unborn(a_pod(f"train-{number}", namespace="team", template="one-gpu"))
        cluster.api.create("/api/v1/namespaces/team/pods", pod)
    wait_until(lambda: len(cluster.api.get(f"{inside}/resourceclaims")["items"]) == 3)
    kinds = (NAMESPACES, RESOURCE_CLAIM_TEMPLATES, PODS, RESOURCE_CLAIMS)
    for kind in kinds:
        follow_for(lab, kind=kind, seconds=1)
    assert {claim.template_name for claim in ResourceClaim.objects.all()} == {"one-gpu"}

    cluster.api.delete("/api/v1/namespaces/team")
    wait_until(lambda: not cluster.api.answers("/api/v1/namespaces/team"))
    for kind in kinds:
        assert follow_for(lab, kind=kind, seconds=2) is Ended.OVER

    assert {kind.plural: differences(lab, kind) for kind in kinds} == {
        kind.plural: {} for kind in kinds
    }
    assert not ResourceClaim.objects.exists()
    assert {cursor_of(lab, kind).relists for kind in kinds} == {0}, "all of it came as events"


def wait_until(what: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.2)
