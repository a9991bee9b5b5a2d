"""Every case in `tests/golden/cases/` whose checks the allocator can decide.

A check that it cannot decide stands in `ELSEWHERE` with the reason, so that none is
skipped in silence: a new kind of check, or a new case, fails until somebody decides.
"""

from collections.abc import Callable
from dataclasses import replace

import pytest

from dra_console.allocator.decoding.decode import decode_claim, decode_snapshot
from dra_console.allocator.errors import DecodeError
from dra_console.allocator.explanation.explain import explain
from dra_console.allocator.model import AllocationResult, JsonObject, Snapshot
from dra_console.allocator.search.search import Allocated, BrokenInput, Outcome, allocate
from dra_console.allocator.validation.validate import (
    FieldError,
    validate_claim,
    validate_class,
    validate_slice,
    validate_template,
)
from tests.unit.allocator.golden_cases import Case, Check, inside, read_cases, reference_of, texts

NOT_THE_ALLOCATORS = {
    "ui": "a page shows it",
    "sync": "the node agent publishes slices",
    "reconcile": "the resourceclaim controller does it",
    "reserve": "the scheduler reserves claims",
    "state": "the resourceclaim controller does it",
    "scenario": "the resourceclaim controller does it",
    "prepare": "the node agent prepares",
    "unprepare": "the node agent unprepares",
    "prepare-sequence": "the node agent prepares",
    "container-devices": "the kubelet hands devices to containers",
}
"""Kinds of checks that belong to other rooms, and whose."""

ELSEWHERE = {
    ("030-consumable-rounding", "invariant"): "test_capacity: every share has an id of its own",
    ("032-backtracking-match-unsatisfiable", "time-limit"): "counted in steps, below",
    ("039-reserved-for-256", "validate"): "admission of a status update: tests/unit/devcluster",
    ("041-deallocate-after-last-consumer", "allocate"): "needs the controller's pass first",
    ("043-template-and-claim-both-or-none", "validate"): "pods: tests/unit/devcluster",
    ("048-v1beta1-and-v1-shapes", "roundtrip"): "the console never writes an older version",
    ("051-split-at-128-devices", "allocate-after-sync"): "needs the publisher's slices",
    ("060-second-claim-on-prepared-device", "invariant"): "the node agent's CDI names",
    ("065-extended-resource-basic", "allocate-pod"): "extended resources are not supported yet",
}
"""Checks that another place decides, or none does yet, by case and kind of check."""

DECIDED = {"allocate", "allocate-sequence", "validate"}
CASES = {case.name: case for case in read_cases()}

Validator = Callable[[Case, JsonObject], tuple[FieldError, ...]]
VALIDATORS: dict[str, Validator] = {
    "ResourceClaim": lambda case, obj: validate_claim(
        obj, namespace_labels=case.namespace_labels(str(inside(obj, "metadata", "namespace")))
    ),
    "ResourceClaimTemplate": lambda case, obj: validate_template(
        obj, namespace_labels=case.namespace_labels(str(inside(obj, "metadata", "namespace")))
    ),
    "DeviceClass": lambda _case, obj: validate_class(obj),
    "ResourceSlice": lambda _case, obj: validate_slice(obj),
}


def checks(kind: str) -> list[object]:
    """List the decided checks of one kind, as parameters."""
    return [
        pytest.param(case, check, id=f"{case.name} #{number}")
        for case in CASES.values()
        for number, check in enumerate(case.checks)
        if check["op"] == kind and (case.name, kind) not in ELSEWHERE
    ]


def snapshot(case: Case) -> Snapshot:
    """Decode what the API server would have stored: what it rejects is left out."""
    rejected = {
        check["object"]
        for check in case.checks
        if check["op"] == "validate" and check["verdict"] == "reject"
    }
    return decode_snapshot(obj for obj in case.objects if reference_of(obj) not in rejected)


def tried(state: Snapshot, check: Check, *, node: str) -> Outcome:
    claim = next(each for each in state.claims if each.key == check["claim"])
    where = next(each for each in state.nodes if each.name == node)
    return allocate(state, [claim], node=where)


def allocated(state: Snapshot, key: object, allocation: AllocationResult) -> Snapshot:
    """Return the state in which the claim has its devices."""
    claims = tuple(
        replace(each, allocation=allocation) if each.key == key else each for each in state.claims
    )
    return replace(state, claims=claims)


def reason(state: Snapshot, check: Check, outcome: Outcome, *, node: str) -> str:
    """Write all that a user reads: the outcome, the explanation and its evidence."""
    claim = next(each for each in state.claims if each.key == check["claim"])
    explanation = explain(state, [claim], node_names=[node])
    parts = [str(outcome), explanation.headline, explanation.detail]
    parts += [node.summary for node in explanation.nodes]
    parts += [each.evidence for each in explanation.verdicts]
    return " ".join(parts).lower()


def assert_check(state: Snapshot, check: Check, *, node: str) -> Outcome:
    outcome = tried(state, check, node=node)
    assert isinstance(outcome, Allocated) == bool(check["fits"]), str(outcome)
    if isinstance(outcome, Allocated):
        assert_allocation(outcome.results[0], check)
        return outcome
    text = reason(state, check, outcome, node=node)
    for word in texts(check.get("reason_contains")):
        assert word.lower() in text
    for word in texts(check.get("reason_not_contains")):
        assert word.lower() not in text
    if "error" in check:
        assert isinstance(outcome, BrokenInput) == bool(check["error"])
        assert str(check["error"] or "") in str(outcome)
    return outcome


def assert_allocation(allocation: AllocationResult, check: Check) -> None:
    results = allocation.results
    if "devices" in check:
        assert [f"{each.request}={each.device_id}" for each in results] == check["devices"]
    if "consumedCapacity" in check:
        consumed = results[0].consumed_capacity or {}
        assert {name: str(each) for name, each in consumed.items()} == check["consumedCapacity"]
    if "config_modes" in check:
        parameters = [each.opaque.parameters for each in allocation.config]
        assert [inside(each, "mode") for each in parameters] == check["config_modes"]
    if "adminAccess" in check:
        assert [each.admin_access for each in results] == [check["adminAccess"]]
    if "shareID" in check:
        assert results[0].share_id not in {None, "11111111-1111-4111-8111-111111111111"}
    if check.get("valid_if") == "12 different devices of zone a":
        assert len({each.device_id for each in results}) == 12
        assert {each.device[:3] for each in results} == {"d-a"}


@pytest.mark.parametrize(("case", "check"), checks("allocate"))
def test_allocate(case: Case, check: Check) -> None:
    assert_check(snapshot(case), check, node=str(check["node"]))


@pytest.mark.parametrize(("case", "check"), checks("allocate-sequence"))
def test_allocate_sequence(case: Case, check: Check) -> None:
    state = snapshot(case)
    steps = check["steps"]
    assert isinstance(steps, list)
    for step in steps:
        assert isinstance(step, dict)
        outcome = assert_check(state, step, node=str(check["node"]))
        if isinstance(outcome, Allocated):
            state = allocated(state, step["claim"], outcome.results[0])


@pytest.mark.parametrize(("case", "check"), checks("validate"))
def test_validate(case: Case, check: Check) -> None:
    obj = case.named(str(check["object"]))

    errors = VALIDATORS[str(obj["kind"])](case, obj)

    if check["verdict"] == "accept":
        assert errors == ()
        return
    assert [each.field for each in errors] == texts(check["field"])
    for word in texts(check.get("reason_contains")):
        assert all(word in str(each) for each in errors)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_every_check_is_decided_here_or_said_to_be_elsewhere(case: Case) -> None:
    for check in case.checks:
        kind = str(check["op"])
        is_elsewhere = kind in NOT_THE_ALLOCATORS or (case.name, kind) in ELSEWHERE
        assert kind in DECIDED or is_elsewhere, f"{case.name}: who decides {kind}?"


@pytest.mark.parametrize(("name", "kind"), ELSEWHERE)
def test_no_check_is_said_to_be_elsewhere_without_need(name: str, kind: str) -> None:
    assert kind in {check["op"] for check in CASES[name].checks}


def test_twelve_that_must_match_of_eleven_are_refused_in_few_steps() -> None:
    case = CASES["032-backtracking-match-unsatisfiable"]

    outcome = tried(snapshot(case), {"claim": "lab/dozen"}, node="node-a")

    assert outcome.steps < 1_000


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_is_accepted_can_be_read(case: Case) -> None:
    for claim in (obj for obj in case.objects if obj["kind"] == "ResourceClaim"):
        if VALIDATORS["ResourceClaim"](case, claim):
            continue
        try:
            decode_claim(claim)
        except DecodeError as error:
            pytest.fail(f"{reference_of(claim)}: {error}")
