"""Laws that hold for every explanation, over worlds with everything that the API allows."""

import copy
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dra_console.allocator.cel.selectors import default_engine
from dra_console.allocator.command.scenario import Scenario
from dra_console.allocator.explanation.explain import Explanation, explain
from dra_console.allocator.explanation.explanation import ExplainedOutcome, Suggestion
from dra_console.allocator.explanation.holdings import Holdings
from dra_console.allocator.explanation.judge import Judge
from dra_console.allocator.explanation.unfolding import key_of, node_rows, objects
from dra_console.allocator.explanation.verdicts import Verdict
from dra_console.allocator.model import Json, JsonObject, ResourceClaim
from dra_console.allocator.outcomes import Allocated, BrokenInput, BudgetExhausted, Outcome
from dra_console.allocator.search.first_fit import first_fit
from dra_console.allocator.search.matching import Matcher
from dra_console.allocator.search.wants import wants_of
from dra_console.allocator.world.index import index_of
from tests.oracle.generator.scenario import scenario
from tests.unit.allocator.golden_cases import inside

pytestmark = pytest.mark.long

DEEP = settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
OUTCOMES = {
    Allocated: ExplainedOutcome.FITS,
    BrokenInput: ExplainedOutcome.BROKEN,
    BudgetExhausted: ExplainedOutcome.BUDGET,
}


@st.composite
def scenarios(draw: st.DrawFn) -> JsonObject:
    """Draw scenarios of the oracle's generator; it knows the whole API."""
    series = draw(st.sampled_from(("default", "alpha")))
    return scenario(series, draw(st.integers(0, 9)), draw(st.integers(0, 9_999)))


def read(drawn: JsonObject) -> Scenario:
    return Scenario.decode(json.dumps(drawn))


def explained(given_: Scenario, claims: Sequence[ResourceClaim] | None = None) -> Explanation:
    return explain(
        given_.snapshot,
        given_.claims if claims is None else claims,
        node_names=[node.name for node in given_.nodes],
        rules=given_.rules,
    )


def searched(given_: Scenario, claims: Sequence[ResourceClaim] | None = None) -> Outcome:
    index = index_of(given_.snapshot, rules=given_.rules)
    asked = given_.claims if claims is None else claims
    return first_fit(index, asked, nodes=given_.nodes).outcome


def errs_somewhere(given_: Scenario) -> bool:
    index = index_of(given_.snapshot, rules=given_.rules)
    return any(
        isinstance(first_fit(index, given_.claims, nodes=[node]).outcome, BrokenInput)
        for node in given_.nodes
    )


@DEEP
@given(drawn=scenarios())
def test_explanation_never_contradicts_the_search(drawn: JsonObject) -> None:
    given_ = read(drawn)

    explanation = explained(given_)

    index = index_of(given_.snapshot, rules=given_.rules)
    found = first_fit(index, given_.claims, nodes=given_.nodes)
    expected = OUTCOMES.get(type(found.outcome), ExplainedOutcome.DOES_NOT_FIT)
    if expected is ExplainedOutcome.FITS and errs_somewhere(given_):
        # kube-scheduler asks all nodes, and an error on any of them ends the pod's turn.
        assert explanation.outcome == ExplainedOutcome.BROKEN
        assert found.node is not None
        assert f"It fits on {found.node.name}, but kube-scheduler" in explanation.headline
        return
    assert explanation.outcome == expected
    assert explanation.node == (found.node.name if found.node else None)
    if isinstance(found.outcome, Allocated):
        assert [each.device_id for each in explanation.chosen] == [
            each.device_id for result in found.outcome.results for each in result.results
        ]


@DEEP
@given(drawn=scenarios())
def test_each_device_has_one_verdict_and_the_numbers_add_up(drawn: JsonObject) -> None:
    explanation = explained(read(drawn))

    devices = [each.device_id for each in explanation.verdicts]
    assert len(devices) == len(set(devices))
    counts = Counter(each.verdict for each in explanation.verdicts)
    assert explanation.funnel == {verdict: counts[verdict] for verdict in Verdict}
    answer = explanation.to_json()
    rows = [row for node in node_rows(answer) for row in objects(node["devices"])]
    assert Counter(map(key_of, rows)) == Counter(map(str, devices))
    assert Counter(str(row["verdict"]) for row in rows) == Counter(
        each.verdict.value for each in explanation.verdicts
    )


@DEEP
@given(drawn=scenarios())
def test_a_device_is_judged_in_its_class_as_it_would_be_alone(drawn: JsonObject) -> None:
    given_ = read(drawn)
    explanation = explained(given_)
    index = index_of(given_.snapshot, rules=given_.rules)
    judge = Judge(
        [want for claim in given_.claims for want in wants_of(claim, classes=index.classes)],
        Matcher(default_engine(), index.usage, index.added_taints, index.rules),
        Holdings(index.inventory, index.usage),
    )

    for row in explanation.verdicts:
        alone = judge.judge(row.published)
        if row.verdict is Verdict.NODE_FILTER and alone.verdict is Verdict.FREE:
            continue
        assert row.verdict is alone.verdict
        if not row.evidence.startswith("chosen for"):
            assert row.evidence == alone.evidence


@DEEP
@given(drawn=scenarios())
def test_chosen_devices_are_free_ones(drawn: JsonObject) -> None:
    explanation = explained(read(drawn))

    chosen = {each.device_id for each in explanation.chosen}
    verdicts = {each.device_id: each.verdict for each in explanation.verdicts}
    assert {verdicts[device_id] for device_id in chosen} <= {Verdict.FREE}


@DEEP
@given(drawn=scenarios())
def test_one_free_device_is_enough_for_who_wants_one(drawn: JsonObject) -> None:
    given_ = read(drawn)
    claim = for_one_device(given_.claims[0]) if given_.claims else None
    if claim is None:
        return

    explanation = explained(given_, [claim])

    free = explanation.funnel[Verdict.FREE]
    if explanation.outcome is ExplainedOutcome.DOES_NOT_FIT:
        assert free == 0
    if explanation.outcome is ExplainedOutcome.FITS:
        assert free > 0


@DEEP
@given(drawn=scenarios())
def test_a_suggestion_makes_it_fit_when_it_is_applied_to_the_objects(drawn: JsonObject) -> None:
    given_ = read(drawn)

    for suggestion in explained(given_).suggestions:
        changed = read(applied(drawn, suggestion, claims=given_.claims))
        assert isinstance(searched(changed), Allocated), suggestion


def for_one_device(claim: ResourceClaim) -> ResourceClaim | None:
    """Reduce a claim to one device of its first request, which nothing constrains."""
    request = next(iter(claim.spec.requests), None)
    if request is None or request.exactly is None:
        return None
    wish = replace(request.exactly, allocation_mode="ExactCount", count=1)
    spec = replace(claim.spec, requests=(replace(request, exactly=wish),), constraints=())
    return replace(claim, spec=spec)


def applied(
    drawn: JsonObject, suggestion: Suggestion, *, claims: Sequence[ResourceClaim]
) -> JsonObject:
    """Change the objects of a scenario as a suggestion says."""
    objects_: list[Json] = []
    for each in objects(copy.deepcopy(drawn["objects"])):
        key = claim_key(each)
        if suggestion.holder is not None and key == suggestion.holder.key:
            continue
        for operation in suggestion.patches.get(key, ()):
            apply_operation(each, operation)
        objects_.append(each)
    asked: list[Json] = [claim.key for claim in claims]
    return drawn | {"objects": objects_, "claims": asked}


def claim_key(manifest: JsonObject) -> str:
    metadata = manifest["metadata"]
    if manifest["kind"] != "ResourceClaim" or not isinstance(metadata, dict):
        return ""
    return f"{metadata.get('namespace', 'default')}/{metadata['name']}"


def apply_operation(manifest: Json, operation: JsonObject) -> None:
    """Apply `add`, `replace` or `remove` of RFC 6902."""
    *parents, last = str(operation["path"]).split("/")[1:]
    for name in parents:
        manifest = manifest[int(name)] if isinstance(manifest, list) else inside(manifest, name)
    if isinstance(manifest, list):
        if operation["op"] == "remove":
            del manifest[int(last)]
        else:
            manifest[int(last)] = operation["value"]
    elif isinstance(manifest, dict):
        if operation["op"] == "remove":
            del manifest[last]
        else:
            assert operation["op"] == "add" or last in manifest
            manifest[last] = operation["value"]
