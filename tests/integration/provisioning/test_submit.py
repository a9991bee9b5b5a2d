from collections.abc import Iterator
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache

from dra_console.access.models import AuditEntry, Outcome
from dra_console.kube.errors import NotFoundError
from dra_console.kube.kinds import NAMESPACES, PODS, RESOURCE_CLAIM_TEMPLATES
from dra_console.mirror.models import Cluster
from dra_console.provisioning.manifest import TemplateForm, write_form
from dra_console.provisioning.submit import (
    Created,
    Deleted,
    Refused,
    create_template,
    delete_pod,
    delete_template,
    start_test_pod,
)
from tests.builders.accounts import an_account
from tests.builders.objects import a_request, a_template
from tests.integration.served_cluster import ServedCluster, served_cluster

pytestmark = pytest.mark.usefixtures("redis_url")

NAMESPACE = "team-research"
FORM = TemplateForm(namespace=NAMESPACE, name="train", device_class_name="gpu.nvidia.com", count=2)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[ServedCluster]:
    cache.clear()
    with served_cluster(tmp_path) as running:
        running.client.create(NAMESPACES, {"metadata": {"name": NAMESPACE}})
        running.grant(
            "group:team-research",
            "resourceclaimtemplates",
            "pods",
            namespaces=frozenset({NAMESPACE}),
        )
        yield running


@pytest.fixture
def researcher(db: None) -> User:
    del db
    return an_account("researcher", groups=("team-research",))


@pytest.fixture
def served_row(db: None, served: ServedCluster) -> Cluster:
    del db
    return served.as_row()


def test_template_of_the_form_is_stored_as_the_user(
    served: ServedCluster, served_row: Cluster, researcher: User
) -> None:
    outcome = create_template(researcher, served_row, write_form(FORM), dry_run=False)

    assert isinstance(outcome, Created)
    stored = served.client.get(RESOURCE_CLAIM_TEMPLATES, "train", namespace=NAMESPACE)
    assert stored["spec"] == outcome.stored["spec"]
    entry = AuditEntry.objects.get()
    assert (entry.kubernetes_username, entry.outcome) == ("researcher", Outcome.DONE)


def test_dry_run_stores_nothing(
    served: ServedCluster, served_row: Cluster, researcher: User
) -> None:
    outcome = create_template(researcher, served_row, write_form(FORM), dry_run=True)

    assert isinstance(outcome, Created)
    with pytest.raises(NotFoundError):
        served.client.get(RESOURCE_CLAIM_TEMPLATES, "train", namespace=NAMESPACE)
    assert AuditEntry.objects.get().dry_run


def test_manifest_of_an_existing_template_makes_a_new_one(
    served_row: Cluster, researcher: User
) -> None:
    stored = a_template("train", namespace=NAMESPACE)

    outcome = create_template(researcher, served_row, stored, dry_run=False)

    assert isinstance(outcome, Created)
    metadata = outcome.stored["metadata"]
    assert isinstance(metadata, dict)
    assert metadata["uid"] != stored["metadata"]["uid"]  # type: ignore[call-overload,index]  # an object


def test_what_the_api_server_refuses_comes_back_with_the_form_s_field(
    served_row: Cluster, researcher: User
) -> None:
    template = a_template("train", namespace=NAMESPACE, requests=[a_request(count=-1)])

    outcome = create_template(researcher, served_row, template, dry_run=True)

    assert isinstance(outcome, Refused)
    assert [(finding.field, finding.form_field) for finding in outcome.findings] == [
        ("spec.spec.devices.requests[0].exactly.count", "count")
    ]
    assert AuditEntry.objects.get().outcome == Outcome.REFUSED


def test_right_that_the_user_lacks_is_a_refusal_not_a_fault(
    served_row: Cluster, researcher: User
) -> None:
    foreign = write_form(FORM) | {"metadata": {"name": "train", "namespace": "default"}}

    outcome = create_template(researcher, served_row, foreign, dry_run=False)

    assert isinstance(outcome, Refused)
    assert "forbidden" in outcome.message


def test_account_without_a_kubernetes_name_is_refused(served_row: Cluster) -> None:
    nobody = an_account("nobody", kubernetes_username="")

    outcome = create_template(nobody, served_row, write_form(FORM), dry_run=False)

    assert isinstance(outcome, Refused)
    assert "no Kubernetes username" in outcome.message


@pytest.mark.parametrize("missing", ["name", "namespace"])
def test_template_needs_a_name_and_a_namespace(
    served_row: Cluster, researcher: User, missing: str
) -> None:
    metadata = {"name": "train", "namespace": NAMESPACE} | {missing: ""}

    outcome = create_template(
        researcher, served_row, write_form(FORM) | {"metadata": {**metadata}}, dry_run=True
    )

    assert isinstance(outcome, Refused)
    assert [finding.form_field for finding in outcome.findings] == [missing]


def test_pod_holds_the_template_s_devices_and_is_placed_by_the_console(
    served: ServedCluster, served_row: Cluster, researcher: User
) -> None:
    create_template(researcher, served_row, write_form(FORM), dry_run=False)

    outcome = start_test_pod(researcher, served_row, NAMESPACE, "train")

    assert isinstance(outcome, Created)
    assert outcome.name.startswith("train-test-")
    spec = served.client.get(PODS, outcome.name, namespace=NAMESPACE)["spec"]
    assert isinstance(spec, dict)
    assert spec["schedulerName"] == "dra-console"
    assert spec["resourceClaims"] == [{"name": "gpu", "resourceClaimTemplateName": "train"}]


def test_pod_and_template_are_deleted_as_the_user(
    served: ServedCluster, served_row: Cluster, researcher: User
) -> None:
    create_template(researcher, served_row, write_form(FORM), dry_run=False)
    pod = start_test_pod(researcher, served_row, NAMESPACE, "train")
    assert isinstance(pod, Created)

    assert isinstance(delete_pod(researcher, served_row, NAMESPACE, pod.name), Deleted)
    assert isinstance(delete_template(researcher, served_row, NAMESPACE, "train"), Deleted)

    assert served.client.list(RESOURCE_CLAIM_TEMPLATES).items == []


def test_deleting_what_is_not_there_is_refused(served_row: Cluster, researcher: User) -> None:
    outcome = delete_pod(researcher, served_row, NAMESPACE, "gone")

    assert isinstance(outcome, Refused)
    assert 'pods "gone" not found' in outcome.message
