"""Node selectors have their core meaning."""

import pytest

from dra_console.allocator.decoding.decode import decode_node_selector
from dra_console.allocator.model import Json, JsonObject, Node
from dra_console.allocator.world.nodes import NodeSelectorError, selects

NODE = Node("gpu-01", {"zone": "a", "gpus": "8"})


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
    ],
)
def test_selector_that_the_server_would_not_store_is_refused(term: JsonObject) -> None:
    with pytest.raises(NodeSelectorError, match="expected"):
        selects(decode_node_selector(selector(term)), node=NODE)
