"""Which nodes a slice or device reaches, and which nodes an allocation is bound to.

Node selectors have their core meaning: terms are alternatives, requirements inside a term
all hold, an empty term matches nothing, and `matchFields` knows `metadata.name` alone.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from dra_console.allocator.errors import AllocatorError
from dra_console.allocator.inventory import (
    Node,
    NodeReach,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
)
from dra_console.allocator.names import label_key, label_value

NAME_FIELD: Final = "metadata.name"
SELECTORS_KEPT: Final = 4_096
WHOLE_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,20}", re.ASCII)


class NodeSelectorError(AllocatorError, ValueError):
    """A node selector that the API server would not have stored."""


def reaches(reach: NodeReach, *, node: Node) -> bool:
    """Tell whether a slice or device with this reach can be used from the node.

    Raises:
        NodeSelectorError: the selector is malformed.

    """
    if reach.node_name is not None:
        return reach.node_name == node.name
    if reach.all_nodes:
        return True
    return reach.node_selector is not None and selects(reach.node_selector, node=node)


def selects(selector: NodeSelector, *, node: Node) -> bool:
    """Tell whether a node selector matches the node.

    Raises:
        NodeSelectorError: the selector is malformed.

    """
    check_selector(selector)
    return any(_term_selects(term, node=node) for term in selector.terms)


def check_selector(selector: NodeSelector) -> None:
    """Look at a node selector without a node.

    Raises:
        NodeSelectorError: the selector is malformed.

    """
    problem = _problem(selector)
    if problem is not None:
        raise NodeSelectorError(problem)


def selector_of(reaches_used: Iterable[NodeReach], *, node: Node) -> NodeSelector | None:
    """Merge the reaches of all devices of a claim; `None` means that any node can use it.

    A device of one node, given as a reach with that node's name, binds the claim to the
    node. Otherwise the requirements of all selectors have to hold together.

    Raises:
        NodeSelectorError: a selector has alternatives, which no single term can express.

    """
    expressions: list[NodeSelectorRequirement] = []
    fields: list[NodeSelectorRequirement] = []
    for reach in reaches_used:
        if reach.node_name is not None:
            return selector_for(node.name)
        terms = reach.node_selector.terms if reach.node_selector else ()
        if len(terms) > 1:
            raise NodeSelectorError(
                f"expected one term for the nodes of a device, got {len(terms)}"
            )
        for term in terms:
            _extend(expressions, term.match_expressions)
            _extend(fields, term.match_fields)
    if not expressions and not fields:
        return None
    return NodeSelector((NodeSelectorTerm(tuple(expressions), tuple(fields)),))


def selector_for(node_name: str) -> NodeSelector:
    """Select one node by name."""
    requirement = NodeSelectorRequirement(NAME_FIELD, "In", (node_name,))
    return NodeSelector((NodeSelectorTerm(match_fields=(requirement,)),))


def _extend(known: list[NodeSelectorRequirement], more: Sequence[NodeSelectorRequirement]) -> None:
    for requirement in more:
        if not any(_is_same(requirement, other) for other in known):
            known.append(requirement)


def _is_same(left: NodeSelectorRequirement, right: NodeSelectorRequirement) -> bool:
    return (left.key, left.operator, set(left.values)) == (
        right.key,
        right.operator,
        set(right.values),
    )


def _term_selects(term: NodeSelectorTerm, *, node: Node) -> bool:
    if not term.match_expressions and not term.match_fields:
        return False
    return all(_holds(each, node.labels) for each in term.match_expressions) and all(
        _holds(each, {NAME_FIELD: node.name}) for each in term.match_fields
    )


def _holds(requirement: NodeSelectorRequirement, labels: Mapping[str, str]) -> bool:
    return OPERATORS[requirement.operator](labels.get(requirement.key), requirement.values)


@lru_cache(maxsize=SELECTORS_KEPT)
def _problem(selector: NodeSelector) -> str | None:
    """Return what is wrong with any term, since upstream reads them all before it matches one."""
    for term in selector.terms:
        for requirement in term.match_fields:
            problem = _field_problem(requirement)
            if problem is not None:
                return f"matchFields: {problem}"
        for requirement in term.match_expressions:
            problem = _label_problem(requirement)
            if problem is not None:
                return f"matchExpressions: {requirement.key}: {problem}"
    return None


def _field_problem(requirement: NodeSelectorRequirement) -> str | None:
    if requirement.key != NAME_FIELD:
        return f"expected {NAME_FIELD}, got {requirement.key!r}"
    if requirement.operator not in {"In", "NotIn"}:
        return f"expected operator In or NotIn, got {requirement.operator!r}"
    if len(requirement.values) != 1:
        return f"expected one value, got {len(requirement.values)}"
    return None


def _label_problem(requirement: NodeSelectorRequirement) -> str | None:
    operator, values = requirement.operator, requirement.values
    if operator not in OPERATORS:
        return f"expected one of {', '.join(OPERATORS)}, got operator {operator!r}"
    if operator in {"In", "NotIn"} and not values:
        return f"expected values for operator {operator}, got none"
    if operator in {"Exists", "DoesNotExist"} and values:
        return f"expected no values for operator {operator}, got {len(values)}"
    if operator in {"Gt", "Lt"} and (len(values) != 1 or _number(values[0]) is None):
        return f"expected one whole number for operator {operator}, got {', '.join(values)!r}"
    found = [
        *label_key(requirement.key),
        *(each for value in values for each in label_value(value)),
    ]
    return found[0] if found else None


def _number(text: str | None) -> int | None:
    """Read a whole number of 64 bits, spelled as Go reads it; labels may be anything."""
    if text is None or not WHOLE_NUMBER.fullmatch(text):
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None


def _is_greater(label: str | None, values: tuple[str, ...]) -> bool:
    left, right = _number(label), _number(values[0])
    return left is not None and right is not None and left > right


def _is_less(label: str | None, values: tuple[str, ...]) -> bool:
    left, right = _number(label), _number(values[0])
    return left is not None and right is not None and left < right


OPERATORS: Final[Mapping[str, Callable[[str | None, tuple[str, ...]], bool]]] = MappingProxyType(
    {
        "In": lambda label, values: label is not None and label in values,
        "NotIn": lambda label, values: label is None or label not in values,
        "Exists": lambda label, _values: label is not None,
        "DoesNotExist": lambda label, _values: label is None,
        "Gt": _is_greater,
        "Lt": _is_less,
    }
)
