"""What differs between two attempts: nothing between equals, and all of it otherwise."""

from collections.abc import Mapping
from typing import TypeVar

from hypothesis import given
from hypothesis import strategies as st

from dra_console.allocator.decoding.decode import decode_claim, decode_snapshot
from dra_console.allocator.explanation.explain import explain
from dra_console.allocator.model import JsonObject
from dra_console.scheduling.attempts.comparison import (
    Comparison,
    Facts,
    HolderChange,
    NodeChange,
    Reason,
    SentenceChange,
    Standing,
    compare,
    facts_of,
)
from tests.builders.objects import (
    a_claim,
    a_class,
    a_device,
    a_node,
    a_request,
    a_result,
    a_slice,
    an_allocated_claim,
)

NAMES = st.sampled_from(["gpu-01", "gpu-02", "gpu-03", ""])
TEXTS = st.sampled_from(["", "taken", "count", "fits"])
NUMBERS = st.integers(min_value=1, max_value=3)

some_facts = st.builds(
    Facts,
    sentences=st.fixed_dictionaries({"outcome": TEXTS, "headline": TEXTS, "node": TEXTS}),
    devices=st.dictionaries(st.builds(Reason, TEXTS, TEXTS, TEXTS), NUMBERS),
    nodes=st.dictionaries(NAMES, st.builds(Standing, TEXTS, TEXTS)),
    holders=st.dictionaries(NAMES, NUMBERS),
    advice=st.frozensets(TEXTS),
)

Key = TypeVar("Key")


@given(some_facts)
def test_nothing_differs_between_equals(facts: Facts) -> None:
    assert compare(facts, facts).is_empty


@given(some_facts, some_facts)
def test_the_older_facts_with_all_differences_are_the_newer_ones(
    older: Facts, newer: Facts
) -> None:
    found = compare(older, newer)

    assert applied(older, found) == newer
    assert found.is_empty == (older == newer)


def applied(facts: Facts, found: Comparison) -> Facts:
    nodes: dict[str, Standing] = dict(facts.nodes)
    for change in found.nodes:
        for name in change.names:
            assert nodes.pop(name, None) == change.before
            if change.after is not None:
                nodes[name] = change.after
    return Facts(
        sentences={**facts.sentences, **{each.name: each.after for each in found.sentences}},
        devices=counted(facts.devices, {each.reason: each.after for each in found.reasons}),
        nodes=nodes,
        holders=counted(facts.holders, {each.claim: each.after for each in found.holders}),
        advice=(facts.advice - set(found.advice_gone)) | set(found.advice_new),
    )


def counted(before: Mapping[Key, int], changed: Mapping[Key, int]) -> dict[Key, int]:
    return {key: count for key, count in {**before, **changed}.items() if count}


def explained(*held: str) -> JsonObject:
    """Explain a claim for both devices of the only node, where some of them are held."""
    claim = a_claim("train", requests=[a_request(count=2)])
    others = [an_allocated_claim(f"has-{name}", results=[a_result(name)]) for name in held]
    devices = [a_device("gpu-0"), a_device("gpu-1")]
    world = decode_snapshot([a_node(), a_class(), a_slice(devices=devices), claim, *others])
    return explain(world, [decode_claim(claim)]).to_json()


def test_a_device_that_was_taken_meanwhile_shows_in_sentence_node_reason_and_holder() -> None:
    found = compare(facts_of(explained()), facts_of(explained("gpu-1")))

    assert found.sentences[0] == SentenceChange("outcome", "fits", "does-not-fit")
    assert [change.names for change in found.nodes] == [("gpu-01",)]
    assert {each.reason.verdict: each.after - each.before for each in found.reasons}["taken"] == 1
    assert found.holders == (HolderChange("team-research/has-gpu-1", 0, 1),)


def test_a_node_that_only_one_attempt_lists_is_named() -> None:
    nowhere = facts_of({"groups": []})

    found = compare(nowhere, facts_of(explained("gpu-1")))

    [change] = found.nodes
    assert isinstance(change, NodeChange)
    assert (change.names, change.before) == (("gpu-01",), None)
    assert change.after is not None
