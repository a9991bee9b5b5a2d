"""Node selectors have their core meaning."""

import pytest

from dra_console.allocator.decoding.decode import decode_node_selector
from dra_console.allocator.model import Json, JsonObject, Node
from dra_console.allocator.world.nodes import NodeSelectorError, selects

NODE = Node("gpu-01", {"zone": "a", "gpus": "8", "odd": "1_0"})


def requirement(key: str, operator: str, *values: str) -> Json:
    return {"key": key, "operator": operator, "values": [*values]}


def selector(*terms: JsonObject) -> JsonObject:
    return {"nodeSelectorTerms": [*terms]}


@pytest.mark.parametrize(
    ("expression", "matches"),
    [
        (requirement("zone", "In", "a", "b"), True),
        (requirement("zone", "In", "b"), False),
        (requirement("rack", "In", "a"), False),
        (requirement("zone", "NotIn", "a"), False),
        (requirement("rack", "NotIn", "a"), True),
        (requirement("zone", "Exists"), True),
        (requirement("rack", "Exists"), False),
        (requirement("rack", "DoesNotExist"), True),
        (requirement("gpus", "Gt", "7"), True),
        (requirement("gpus", "Gt", "8"), False),
        (requirement("gpus", "Lt", "9"), True),
        (requirement("zone", "Lt", "9"), False),
        (requirement("rack", "Gt", "1"), False),
        (requirement("odd", "Gt", "1"), False),
    ],
)
def test_operators(expression: Json, matches: bool) -> None:
    decoded = decode_node_selector(selector({"matchExpressions": [expression]}))

    assert selects(decoded, node=NODE) is matches


def test_terms_are_alternatives() -> None:
    decoded = decode_node_selector(
        selector(
            {"matchExpressions": [requirement("zone", "In", "b")]},
            {"matchFields": [requirement("metadata.name", "In", "gpu-01")]},
        )
    )

    assert selects(decoded, node=NODE)


def test_requirements_in_a_term_all_hold() -> None:
    decoded = decode_node_selector(
        selector(
            {
                "matchExpressions": [requirement("zone", "In", "a")],
                "matchFields": [requirement("metadata.name", "In", "gpu-02")],
            }
        )
    )

    assert not selects(decoded, node=NODE)


def test_empty_term_matches_nothing() -> None:
    assert not selects(decode_node_selector(selector({})), node=NODE)


@pytest.mark.parametrize(
    "term",
    [
        {"matchExpressions": [requirement("zone", "Near", "a")]},
        {"matchFields": [requirement("metadata.namespace", "In", "a")]},
        {"matchFields": [requirement("metadata.name", "Exists")]},
        {"matchFields": [requirement("metadata.name", "In", "a", "b")]},
        {"matchExpressions": [requirement("zone", "In")]},
        {"matchExpressions": [requirement("zone", "Exists", "a")]},
        {"matchExpressions": [requirement("gpus", "Gt", "many")]},
        {"matchExpressions": [requirement("gpus", "Gt", "1", "2")]},
        {"matchExpressions": [requirement("gpus", "Gt", "9223372036854775808")]},
    ],
)
def test_selector_that_the_server_would_not_store_is_refused(term: JsonObject) -> None:
    with pytest.raises(NodeSelectorError, match="expected"):
        selects(decode_node_selector(selector(term)), node=NODE)


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        (requirement("zone/a/b", "In", "a"), "subdomain must consist of"),
        (requirement("zone", "In", "-a"), "must be empty or consist of"),
    ],
)
def test_names_and_values_are_those_of_labels(expression: Json, problem: str) -> None:
    with pytest.raises(NodeSelectorError, match=problem):
        selects(decode_node_selector(selector({"matchExpressions": [expression]})), node=NODE)


def test_malformed_term_is_refused_though_another_one_matches() -> None:
    decoded = decode_node_selector(
        selector(
            {"matchExpressions": [requirement("zone", "In", "a")]},
            {"matchExpressions": [requirement("zone", "Near", "a")]},
        )
    )

    with pytest.raises(NodeSelectorError, match="expected one of In"):
        selects(decoded, node=NODE)
