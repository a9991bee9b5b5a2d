"""A real kubectl against a devcluster in its own process."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.integration.devclusters import Devcluster, running_devcluster
from tests.programs import need

KUBECTL_SECONDS = 30

OBJECTS = """
apiVersion: v1
kind: Namespace
metadata: {name: lab}
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu.example.com}
spec: {selectors: [{cel: {expression: "device.driver == 'gpu.example.com'"}}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: gpu, namespace: lab, labels: {team: a}}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.example.com}}]}}
---
apiVersion: v1
kind: Pod
metadata: {name: trainer, namespace: lab}
spec:
  containers: [{name: main, image: "pause:1", resources: {claims: [{name: gpu}]}}]
  resourceClaims: [{name: gpu, resourceClaimName: gpu}]
"""


class Kubectl:
    """Runs kubectl against one devcluster."""

    def __init__(self, program: str, cluster: Devcluster, directory: Path) -> None:
        self._command = [
            program,
            f"--kubeconfig={cluster.kubeconfig}",
            f"--cache-dir={directory / 'cache'}",
        ]

    def run(self, *arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self._command, *arguments],
            input=given,
            capture_output=True,
            text=True,
            timeout=KUBECTL_SECONDS,
            check=False,
        )

    def __call__(self, *arguments: str, given: str = "") -> str:
        """Return what kubectl prints; it must succeed."""
        done = self.run(*arguments, given=given)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def refused(self, *arguments: str, given: str = "") -> str:
        """Return why kubectl failed; it must fail."""
        done = self.run(*arguments, given=given)
        assert done.returncode != 0, done.stdout
        return done.stderr

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen([*self._command, *arguments], stdout=subprocess.PIPE, text=True)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Devcluster]:
    with running_devcluster(tmp_path_factory.mktemp("devcluster")) as cluster:
        yield cluster


@pytest.fixture
def kubectl(cluster: Devcluster, tmp_path: Path) -> Iterator[Kubectl]:
    """kubectl beside the objects above, which are gone afterwards."""
    kubectl = Kubectl(need("kubectl"), cluster, tmp_path)
    kubectl("apply", "-f", "-", given=OBJECTS)
    yield kubectl
    kubectl("delete", "namespace", "lab", "--ignore-not-found", "--timeout=20s")
    kubectl("delete", "deviceclass", "--all")


def test_get_prints_the_kinds_of_dynamic_resource_allocation(kubectl: Kubectl) -> None:
    printed = kubectl("get", "resourceclaims,resourceslices,deviceclasses,pods", "-A")

    words = [line.split()[:3] for line in printed.splitlines() if line]
    assert ["NAMESPACE", "NAME", "STATE"] in words
    assert ["lab", "resourceclaim.resource.k8s.io/gpu", "pending"] in words
    assert ["lab", "pod/trainer", "0/1"] in words


def test_second_apply_of_the_same_changes_nothing(kubectl: Kubectl) -> None:
    version = ("get", "pod/trainer", "-n", "lab", "-o", "jsonpath={.metadata.resourceVersion}")
    before = kubectl(*version)

    printed = kubectl("apply", "-f", "-", given=OBJECTS)

    assert "pod/trainer unchanged" in printed
    assert kubectl(*version) == before


def test_apply_changes_what_is_new(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", given=OBJECTS.replace("pause:1", "pause:2"))

    image = "jsonpath={.spec.containers[0].image}"
    assert kubectl("get", "pod/trainer", "-n", "lab", "-o", image) == "pause:2"


def test_refused_object_is_explained_with_its_field(kubectl: Kubectl) -> None:
    explained = kubectl.refused(
        "apply", "-f", "-", given=OBJECTS.replace("team: a", "team: a, bad: '-'")
    )

    assert 'metadata.labels: Invalid value: "-"' in explained


def test_broken_selector_is_explained_with_its_place(kubectl: Kubectl) -> None:
    selector = {"cel": {"expression": "device.driver == \u201cgpu\u201d"}}
    exactly = {"deviceClassName": "gpu.example.com", "selectors": [selector]}
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "broken", "namespace": "lab"},
        "spec": {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}},
    }

    explained = kubectl.refused("create", "-f", "-", given=json.dumps(claim))

    assert "spec.devices.requests[0].exactly.selectors[0].cel.expression" in explained


def test_spec_of_a_claim_cannot_be_changed_by_apply(kubectl: Kubectl) -> None:
    changed = OBJECTS.replace("deviceClassName: gpu.example.com", "deviceClassName: other")

    assert "spec: Invalid value" in kubectl.refused("apply", "-f", "-", given=changed)


def test_describe_shows_the_pod_and_its_events(kubectl: Kubectl) -> None:
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "trainer.1", "namespace": "lab"},
        "involvedObject": {
            "kind": "Pod",
            "namespace": "lab",
            "name": "trainer",
            "uid": kubectl("get", "pod/trainer", "-n", "lab", "-o", "jsonpath={.metadata.uid}"),
        },
        "reason": "Waiting",
        "message": "for a device",
        "type": "Normal",
    }
    kubectl("create", "-f", "-", given=json.dumps(event))

    described = kubectl("describe", "pod", "trainer", "-n", "lab")

    assert "Image:" in described
    assert "for a device" in described
    assert "Device Class Name:  gpu.example.com" in kubectl(
        "describe", "resourceclaim", "-n", "lab"
    )


def test_watch_prints_each_change_as_it_happens(kubectl: Kubectl) -> None:
    watch = kubectl.start("get", "resourceclaims", "-n", "lab", "-w", "--no-headers")
    assert watch.stdout is not None
    first = watch.stdout.readline()

    patch = json.dumps({"status": {"allocation": {"devices": {}}}})
    options = ("-n", "lab", "--subresource=status", "--type=merge")
    kubectl("patch", "resourceclaim", "gpu", *options, "-p", patch)
    second = watch.stdout.readline()
    watch.terminate()
    watch.communicate()

    assert first.split()[:2] == ["gpu", "pending"]
    assert second.split()[:2] == ["gpu", "allocated"]


@pytest.mark.parametrize(
    ("kind", "patch"),
    [
        ("strategic", {"metadata": {"labels": {"x": "1"}}}),
        ("merge", {"metadata": {"labels": {"x": "1"}}}),
        ("json", [{"op": "add", "path": "/metadata/labels", "value": {"x": "1"}}]),
    ],
)
def test_patch_of_each_kind(kubectl: Kubectl, kind: str, patch: object) -> None:
    kubectl("patch", "pod", "trainer", "-n", "lab", f"--type={kind}", "-p", json.dumps(patch))

    assert kubectl("get", "pod", "-n", "lab", "-l", "x=1", "-o", "name") == "pod/trainer\n"


def test_label_annotate_and_select(kubectl: Kubectl) -> None:
    kubectl("label", "resourceclaim", "gpu", "-n", "lab", "tier=gold")
    kubectl("annotate", "resourceclaim", "gpu", "-n", "lab", "note=kept")

    selected = kubectl("get", "resourceclaim", "-A", "-l", "tier in (gold),team", "-o", "yaml")

    (claim,) = yaml.safe_load(selected)["items"]
    assert claim["metadata"]["annotations"]["note"] == "kept"


def test_delete_waits_until_the_object_is_gone(kubectl: Kubectl) -> None:
    kubectl("delete", "pod", "trainer", "-n", "lab", "--timeout=10s")

    assert 'pods "trainer" not found' in kubectl.refused("get", "pod", "trainer", "-n", "lab")


def test_deleted_namespace_takes_its_objects_with_it(kubectl: Kubectl) -> None:
    kubectl("delete", "namespace", "lab", "--timeout=20s")

    assert kubectl("get", "pods,resourceclaims", "-A", "-o", "name") == ""


def test_dry_run_on_the_server_stores_nothing(kubectl: Kubectl) -> None:
    kubectl("label", "pod", "trainer", "-n", "lab", "x=1", "--dry-run=server")

    assert kubectl("get", "pod", "-n", "lab", "-l", "x=1", "-o", "name") == ""


def test_what_kubectl_builds_itself_is_read(kubectl: Kubectl) -> None:
    kubectl("create", "namespace", "built")
    kubectl("create", "serviceaccount", "robot", "-n", "built")
    token = kubectl("create", "token", "robot", "-n", "built")
    kubectl("create", "quota", "few", "-n", "built", "--hard=pods=3")

    assert token.count(".") == 2
    assert "pods: <unknown>/3" in kubectl("get", "quota", "few", "-n", "built")
    assert kubectl("auth", "can-i", "create", "pods").strip() == "yes"
    assert "system:admin" in kubectl("auth", "whoami")
    kubectl("delete", "namespace", "built", "--timeout=20s")


def test_impersonated_user_without_rights_is_refused(kubectl: Kubectl) -> None:
    refusal = kubectl.refused("get", "pods", "-n", "lab", "--as=bob")

    assert 'User "bob" cannot list resource "pods"' in refusal
    assert "no" in kubectl.run("auth", "can-i", "get", "pods", "--as=bob").stdout


def test_server_side_apply_says_what_to_do_instead(kubectl: Kubectl) -> None:
    refusal = kubectl.refused("apply", "--server-side", "-f", "-", given=OBJECTS)

    assert "use client-side apply" in refusal
