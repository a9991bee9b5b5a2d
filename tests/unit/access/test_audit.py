import pytest

from dra_console.access.audit import REDACTED, Write, audited, difference, record
from dra_console.access.models import AuditEntry, Outcome
from dra_console.allocator.model import JsonObject
from dra_console.kube.errors import ApiError, ForbiddenError
from dra_console.kube.kinds import RESOURCE_CLAIMS
from dra_console.mirror.models import Cluster
from tests.builders.accounts import an_account
from tests.builders.objects import a_claim


def a_write(*, name: str = "train", dry_run: bool = False) -> Write:
    cluster = Cluster(name="prod")
    return Write(cluster, "create", RESOURCE_CLAIMS, "team-research", name, dry_run=dry_run)


@pytest.mark.django_db
def test_a_write_is_recorded_with_who_what_and_outcome() -> None:
    ana = an_account("ana", kubernetes_username="ana@example.org")
    claim = a_claim("train")

    with audited(ana, a_write()) as effect:
        effect.after = claim

    entry = AuditEntry.objects.get()
    assert (entry.user, entry.username, entry.kubernetes_username) == (
        ana,
        "ana",
        "ana@example.org",
    )
    assert (entry.cluster_name, entry.verb, entry.plural) == ("prod", "create", "resourceclaims")
    assert (entry.namespace, entry.name) == ("team-research", "train")
    assert entry.outcome == Outcome.DONE
    assert not entry.dry_run
    assert entry.diff[0]["after"]["spec"] == claim["spec"]


@pytest.mark.django_db
def test_a_refusal_is_recorded_with_the_cluster_words_and_raised_again() -> None:
    refusal = ForbiddenError("ana cannot create", status=403)

    with pytest.raises(ForbiddenError), audited(an_account(), a_write()):
        raise refusal

    entry = AuditEntry.objects.get()
    assert entry.outcome == Outcome.REFUSED
    assert entry.detail == "ana cannot create"
    assert entry.diff == []


@pytest.mark.django_db
def test_an_answer_that_never_came_is_a_failure_not_a_refusal() -> None:
    with pytest.raises(ApiError), audited(an_account(), a_write()):
        raise ApiError("no answer")

    assert AuditEntry.objects.get().outcome == Outcome.FAILED


@pytest.mark.django_db
def test_a_dry_run_is_marked() -> None:
    record(an_account(), a_write(dry_run=True), outcome=Outcome.DONE)

    assert AuditEntry.objects.get().dry_run


@pytest.mark.django_db
def test_a_generated_name_is_the_one_that_is_recorded() -> None:
    with audited(an_account(), a_write(name="train-")) as effect:
        effect.after = a_claim("train-x7k2")

    assert AuditEntry.objects.get().name == "train-x7k2"


@pytest.mark.django_db
def test_an_entry_outlives_the_account() -> None:
    ana = an_account("ana")
    record(ana, a_write(), outcome=Outcome.DONE)

    ana.delete()

    entry = AuditEntry.objects.get()
    assert entry.user is None
    assert entry.username == "ana"


def test_a_difference_names_members_by_json_pointer() -> None:
    before: JsonObject = {"metadata": {"labels": {"a/b": "1", "gone": "x"}}, "spec": {"n": [1]}}
    after: JsonObject = {"metadata": {"labels": {"a/b": "2"}}, "spec": {"n": [1, 2]}}

    assert difference(before, after) == [
        {"path": "/metadata/labels/a~1b", "before": "1", "after": "2"},
        {"path": "/metadata/labels/gone", "before": "x"},
        {"path": "/spec/n", "before": [1], "after": [1, 2]},
    ]


def test_what_the_server_sets_on_each_write_is_no_difference() -> None:
    before: JsonObject = {"metadata": {"name": "a", "resourceVersion": "1", "generation": 1}}
    after: JsonObject = {"metadata": {"name": "a", "resourceVersion": "2", "generation": 2}}

    assert difference(before, after) == []


def test_opaque_parameters_that_kubectl_repeats_in_an_annotation_are_never_recorded() -> None:
    applied = '{"parameters": {"token": "hunter2"}}'
    annotations: JsonObject = {"kubectl.kubernetes.io/last-applied-configuration": applied}
    claim: JsonObject = {"metadata": {"name": "train", "annotations": annotations}}

    [change] = difference(None, claim)

    assert "hunter2" not in str(change)


def test_opaque_parameters_are_never_recorded() -> None:
    opaque: JsonObject = {"driver": "gpu.nvidia.com", "parameters": {"token": "hunter2"}}
    claim: JsonObject = {"spec": {"devices": {"config": [{"opaque": opaque}]}}}

    [change] = difference(None, claim)

    assert "hunter2" not in str(change)
    assert REDACTED in str(change)
