"""Which nodes a slice or device reaches, and which nodes an allocation is bound to.

Node selectors have their core meaning: terms are alternatives, requirements inside a term
all hold, an empty term matches nothing, and `matchFields` knows `metadata.name` alone.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
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

NAME_FIELD: Final = "metadata.name"


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
    return any(_term_selects(term, node=node) for term in selector.terms)


def selector_of(reaches_used: Iterable[NodeReach], *, node: Node) -> NodeSelector | None:
    """Merge the reaches of all devices of a claim; `None` means that any node can use it.

    A device of one node, given as a reach with that node's name, binds the claim to the
    node. Otherwise the requirements of all selectors have to hold together.
    """
    expressions: list[NodeSelectorRequirement] = []
    fields: list[NodeSelectorRequirement] = []
    for reach in reaches_used:
        if reach.node_name is not None:
            return selector_for(node.name)
        for term in reach.node_selector.terms if reach.node_selector else ():
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
    for requirement in term.match_fields:
        if requirement.key != NAME_FIELD:
            raise NodeSelectorError(f"matchFields: expected {NAME_FIELD}, got {requirement.key!r}")
    return all(_holds(each, node.labels) for each in term.match_expressions) and all(
        _holds(each, {NAME_FIELD: node.name}) for each in term.match_fields
    )


def _holds(requirement: NodeSelectorRequirement, labels: Mapping[str, str]) -> bool:
    holds = OPERATORS.get(requirement.operator)
    if holds is None:
        raise NodeSelectorError(
            f"{requirement.key}: expected one of {', '.join(OPERATORS)}, "
            f"got operator {requirement.operator!r}"
        )
    return holds(labels.get(requirement.key), requirement.values)


def _number(text: str | None) -> int | None:
    try:
        return None if text is None else int(text)
    except ValueError:
        return None


def _is_greater(label: str | None, values: tuple[str, ...]) -> bool:
    left, right = _number(label), _number(values[0] if values else None)
    return left is not None and right is not None and left > right


def _is_less(label: str | None, values: tuple[str, ...]) -> bool:
    left, right = _number(label), _number(values[0] if values else None)
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
