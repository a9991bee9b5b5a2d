"""Scenarios by REST: answered from the mirror, for one reader, without a trace."""

from http import HTTPStatus
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.test import Client

from dra_console.access.models import Scope
from dra_console.allocator.api_json import JsonObject
from dra_console.allocator.world.index import index_of
from dra_console.mirror.models import Cluster, ResourceClaim
from dra_console.scheduling.whatif.states import current_state
from tests.builders.fleets import a_fleet
from tests.builders.mirrored import mirror
from tests.builders.objects import (
    a_claim,
    a_device,
    a_pod,
    a_result,
    a_slice,
    an_allocated_claim,
)
from tests.integration.api.conftest import client_of

WHAT_IF = "/api/v1/whatif/"
ONE_GPU: JsonObject = {"claims": [{"template": {"namespace": "team-research", "name": "one-gpu"}}]}
DRAIN: JsonObject = {"type": "drainNode", "node": "gpu-01"}


@pytest.fixture(autouse=True)
def _mirrored_fleet(cluster: Cluster) -> None:
    mirror(cluster, *a_fleet())


def ask(client: Client, scenario: JsonObject, *, status: HTTPStatus = HTTPStatus.OK) -> Any:
    answer = client.post(WHAT_IF, scenario, content_type="application/json")
    assert answer.status_code == status, answer.content
    return answer.json()


def rows() -> dict[str, int]:
    return {model._meta.label: model._default_manager.count() for model in apps.get_models()}


def test_a_scenario_is_answered_and_its_token_reproduces_the_answer(as_admin: Client) -> None:
    scenario: JsonObject = {
        "edits": [{"type": "addNodes", "like": "gpu-01", "count": 2}],
        "pod": ONE_GPU,
    }

    told = ask(as_admin, scenario)

    assert (told["today"]["count"], told["then"]["count"]) == (2, 6)
    assert told["then"]["oneMore"]["headline"] == "All 8 matching devices are taken."
    assert told["snapshot"]["isCurrent"]
    again = as_admin.get(WHAT_IF, {"scenario": told["token"]}).json()
    assert again == told


def test_an_answer_writes_nothing(as_admin: Client) -> None:
    versions = set(ResourceClaim.objects.values_list("uid", "resource_version"))
    before = rows()

    ask(as_admin, {"edits": [DRAIN, {"type": "addPods", "pod": ONE_GPU, "count": 5}]})
    ask(as_admin, {"pod": ONE_GPU})

    assert rows() == before
    assert set(ResourceClaim.objects.values_list("uid", "resource_version")) == versions


def test_a_state_that_moved_on_is_answered_as_it_was_and_says_so(
    as_admin: Client, cluster: Cluster
) -> None:
    told = ask(as_admin, {"pod": ONE_GPU})
    more = an_allocated_claim(
        "more", namespace="team-vision", results=[a_result("gpu-0", pool="gpu-02")], node="gpu-02"
    )
    mirror(cluster, *a_fleet(), more)

    again = as_admin.get(WHAT_IF, {"scenario": told["token"]}).json()
    now = ask(as_admin, {"pod": ONE_GPU})

    assert again["then"] == told["then"]
    assert not again["snapshot"]["isCurrent"]
    assert (now["then"]["count"], now["snapshot"]["isCurrent"]) == (1, True)
    assert now["snapshot"]["id"] != told["snapshot"]["id"]


def test_a_state_that_nobody_keeps_is_replaced_by_the_one_of_now(as_admin: Client) -> None:
    told = ask(as_admin, {"pod": ONE_GPU, "snapshot": "long-gone"})

    assert told["snapshot"]["isSubstitute"]
    assert told["then"]["count"] == 2


def test_equal_states_have_equal_names_whatever_kubelets_report(
    as_admin: Client, cluster: Cluster
) -> None:
    told = ask(as_admin, {})
    reported = a_fleet()
    for one in reported:
        if one["kind"] == "Node":
            one["metadata"]["resourceVersion"] = "77"  # type: ignore[index, call-overload]  # JSON
    mirror(cluster, *reported)

    assert ask(as_admin, {})["snapshot"]["id"] == told["snapshot"]["id"]


def test_who_is_hit_is_named_to_whoever_may_see_them(
    as_admin: Client, as_researcher: Client, cluster: Cluster
) -> None:
    pod = a_pod("train", namespace="team-research", claim="held", phase="Running")
    pod["spec"]["priority"] = 1000  # type: ignore[index, call-overload]  # JSON
    objects = [one for one in a_fleet() if one["metadata"]["name"] != "held"]  # type: ignore[index, call-overload]  # JSON
    held = an_allocated_claim("held", namespace="team-research")
    held["status"]["reservedFor"] = [  # type: ignore[index, call-overload]  # JSON
        {"resource": "pods", "name": "train", "uid": pod["metadata"]["uid"]}  # type: ignore[index, call-overload]  # JSON
    ]
    held["metadata"]["resourceVersion"] = "2"  # type: ignore[index, call-overload]  # JSON
    mirror(cluster, *objects, held, pod)

    seen = ask(as_admin, {"edits": [DRAIN]})["effects"][0]["impact"]
    guarded = ask(as_researcher, {"edits": [DRAIN]})

    assert {each["namespace"] for each in seen["namespaces"]} == {"team-research", "team-vision"}
    impact = guarded["effects"][0]["impact"]
    assert impact["evictedPods"] == 1
    assert {each["namespace"]: each["claims"] for each in impact["namespaces"]} == {
        "team-research": 1,
        None: 1,
    }
    [claim] = impact["claims"]
    assert claim["pods"] == [{"name": "train", "priority": 1000, "priorityClassName": ""}]
    assert "vision" not in str(guarded)
    assert "secret" not in str(guarded)


@pytest.mark.parametrize("name", ["private", "missing"])
def test_a_name_that_may_not_be_seen_is_refused_like_one_that_is_not_there(
    as_researcher: Client, name: str
) -> None:
    pod: JsonObject = {"claims": [{"template": {"namespace": "team-vision", "name": name}}]}

    problem = ask(as_researcher, {"pod": pod}, status=HTTPStatus.UNPROCESSABLE_ENTITY)

    assert problem["errors"] == [
        {
            "pointer": "/pod/claims/0/template",
            "detail": f"there is no template team-vision/{name}, or you may not see it",
        }
    ]


def test_a_token_that_was_cut_off_is_refused(as_admin: Client) -> None:
    answer = as_admin.get(WHAT_IF, {"scenario": "bm9uc2Vuc2U"})

    assert answer.status_code == HTTPStatus.BAD_REQUEST
    assert answer.json()["errors"][0]["parameter"] == "scenario"


def test_a_body_that_is_no_scenario_is_refused_by_its_path(as_admin: Client) -> None:
    edits: JsonObject = {"edits": [{"type": "addNodes", "like": "gpu-01", "count": 0}]}

    problem = ask(as_admin, edits, status=HTTPStatus.UNPROCESSABLE_ENTITY)

    assert problem["errors"][0]["pointer"] == "/edits/0/count"


def test_whoever_may_not_list_slices_may_not_ask(as_nobody: Client) -> None:
    ask(as_nobody, {}, status=HTTPStatus.FORBIDDEN)


def test_a_token_that_may_only_read_may_ask(admin: User) -> None:
    assert ask(client_of(admin, scope=Scope.READ), {"pod": ONE_GPU})["then"]["count"] == 2


def test_what_an_explanation_suggests_can_be_sent_as_it_is(
    as_admin: Client, cluster: Cluster
) -> None:
    waits = a_claim("wide", namespace="team-research")
    waits["spec"]["devices"]["requests"][0]["exactly"]["count"] = 3  # type: ignore[index, call-overload]  # JSON
    mirror(cluster, *a_fleet(), waits)
    source: JsonObject = {"claim": {"namespace": "team-research", "name": "wide"}}
    told = ask(as_admin, {"pod": {"claims": [source]}})
    assert told["then"]["count"] == 0
    [suggestion, *_] = told["then"]["oneMore"]["suggestions"]

    source["patch"] = suggestion["patches"]["team-research/wide"]
    changed = ask(as_admin, {"pod": {"claims": [source]}})

    assert changed["then"]["count"] >= 1


def test_a_question_after_a_claim_changed_looks_at_no_slice_again(cluster: Cluster) -> None:
    before = index_of(current_state(cluster).snapshot)
    mirror(cluster, *a_fleet(), an_allocated_claim("new", namespace="team-research", node="gpu-02"))

    after = current_state(cluster)

    assert "team-research/new" in after.claims
    assert index_of(after.snapshot).inventory is before.inventory


def test_a_question_after_a_slice_changed_looks_at_this_one_alone(cluster: Cluster) -> None:
    others = [a_slice(node=f"other-{at}", devices=[a_device()]) for at in range(8)]
    mirror(cluster, *a_fleet(), *others)
    before = index_of(current_state(cluster).snapshot)
    changed = a_slice(node="other-0", devices=[a_device("new")])
    changed["metadata"]["resourceVersion"] = "2"  # type: ignore[index, call-overload]  # JSON
    mirror(cluster, *a_fleet(), *others[1:], changed)

    after = current_state(cluster).snapshot

    known = {id(each) for each in before.inventory.slices()}
    assert index_of(after).views.common is before.views.common
    assert [each.pool for each in after.slices if id(each) not in known] == ["other-0"]
