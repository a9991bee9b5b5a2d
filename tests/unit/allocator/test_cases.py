"""Cases that people met: the checks that an allocation decides.

What the other checks are and who decides them is in `test_cases_coverage`.
"""

from collections.abc import Iterator
from dataclasses import replace
from time import perf_counter

import pytest

from dra_console.allocator.decoding.decode import decode_snapshot
from dra_console.allocator.explanation.explain import explain
from dra_console.allocator.model import AllocationResult, JsonObject, Snapshot
from dra_console.allocator.scheduler.extended_resources import SpecialClaim, special_claim
from dra_console.allocator.search.search import Allocated, BrokenInput, Outcome, allocate
from nodeagent.publish.plan import Pool, plan_writes
from tests.builders.slice_cuts import cut
from tests.unit.allocator.golden_cases import Case, Check, inside, read_cases, reference_of, texts

CASES = {case.name: case for case in read_cases()}


def checks(kind: str, **fields: str) -> list[object]:
    """List the checks of one kind, as parameters; `fields` narrow them."""
    return [
        pytest.param(case, check, id=f"{case.name} #{number}")
        for case in CASES.values()
        for number, check in enumerate(case.checks)
        if check["op"] == kind and fields.items() <= check.items()
    ]


def snapshot(case: Case, *more: JsonObject) -> Snapshot:
    """Decode what the API server would have stored: what it rejects is left out."""
    rejected = {
        check["object"]
        for check in case.checks
        if check["op"] == "validate" and check["verdict"] == "reject"
    }
    return decode_snapshot(
        obj for obj in (*case.objects, *more) if reference_of(obj) not in rejected
    )


def reconciled(case: Case) -> Snapshot:
    """Return the state after the controller's pass, as the case's own check says it is.

    That the controller does so is tested on the dev cluster.
    """
    freed = {
        check["claim"]
        for check in case.checks
        if check["op"] == "reconcile" and check["allocated"] is False
    }
    assert freed
    state = snapshot(case)
    claims = tuple(
        replace(each, allocation=None, reserved_for=()) if each.key in freed else each
        for each in state.claims
    )
    return replace(state, claims=claims)


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
    state = reconciled(case) if check.get("after") == "reconcile" else snapshot(case)

    assert_check(state, check, node=str(check["node"]))


def sequence(case: Case, check: Check) -> Iterator[AllocationResult]:
    """Take the steps of a check, each on what the one before left, and yield what fitted."""
    state = snapshot(case)
    steps = check["steps"]
    assert isinstance(steps, list)
    for step in steps:
        assert isinstance(step, dict)
        outcome = assert_check(state, step, node=str(check["node"]))
        if isinstance(outcome, Allocated):
            state = allocated(state, step["claim"], outcome.results[0])
            yield outcome.results[0]


@pytest.mark.parametrize(("case", "check"), checks("allocate-sequence"))
def test_allocate_sequence(case: Case, check: Check) -> None:
    assert [*sequence(case, check)]


@pytest.mark.parametrize(("case", "check"), checks("allocate-after-sync"))
def test_allocate_after_sync(case: Case, check: Check) -> None:
    devices: list[JsonObject] = [
        {"name": f"d{number:03}", "attributes": {"n": {"int": number}}} for number in range(300)
    ]
    pool = Pool(driver="gpu.acme.example", node_name="node-a", node_uid="uid", name="node-a")
    slices: list[JsonObject] = [
        {**each, "kind": "ResourceSlice", "metadata": {"name": f"s{index}"}}
        for index, each in enumerate(plan_writes(cut(devices), [], pool=pool).create)
    ]

    assert_check(snapshot(case, *slices), check, node=str(check["node"]))


@pytest.mark.parametrize(("case", "check"), checks("allocate-pod"))
def test_allocate_pod(case: Case, check: Check) -> None:
    state = snapshot(case)
    pod = case.named(f"Pod/{check['pod']}")
    special = special_claim(pod, allocatable={}, classes=state.classes)
    assert isinstance(special, SpecialClaim)

    (node,) = (each for each in state.nodes if each.name == check["node"])
    outcome = allocate(state, [special.claim], node=node)

    assert isinstance(outcome, Allocated) == check["fits"]
    assert isinstance(outcome, Allocated)
    assert_allocation(outcome.results[0], check)


@pytest.mark.parametrize(("case", "check"), checks("time-limit"))
def test_time_limit(case: Case, check: Check) -> None:
    """Every allocation of the case ends in time; the limit of a tester is the target here."""
    limit_seconds = check["target_seconds"]
    assert isinstance(limit_seconds, int)
    for each in case.checks:
        if each["op"] == "allocate":
            begun = perf_counter()
            tried(snapshot(case), each, node=str(each["node"]))
            assert perf_counter() - begun < limit_seconds


@pytest.mark.parametrize(("case", "check"), checks("invariant", text="shareIDs pairwise different"))
def test_share_ids_are_pairwise_different(case: Case, check: Check) -> None:
    del check
    shares: list[str | None] = []
    for each in case.checks:
        if each["op"] == "allocate-sequence":
            shares += [
                result.share_id for outcome in sequence(case, each) for result in outcome.results
            ]

    assert len(shares) > 1
    assert None not in shares
    assert len({*shares}) == len(shares)


def test_twelve_that_must_match_of_eleven_are_refused_in_few_steps() -> None:
    case = CASES["032-backtracking-match-unsatisfiable"]

    outcome = tried(snapshot(case), {"claim": "lab/dozen"}, node="node-a")

    assert outcome.steps < 1_000
