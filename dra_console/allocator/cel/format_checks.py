"""Whether the arguments of `format` fit its text, as far as both are written down."""

from collections.abc import Iterable, Iterator
from typing import Final

from dra_console.allocator.cel.formatting import clauses
from dra_console.allocator.cel.tree import (
    Call,
    CheckedTree,
    Kind,
    ListOf,
    Literal,
    MapOf,
    Node,
    children,
)
from dra_console.allocator.cel.values import EvaluationError

FORMATTABLE: Final = {
    "s": frozenset(
        {
            Kind.STRING, Kind.BOOL, Kind.BYTES, Kind.INT, Kind.UINT, Kind.DOUBLE, Kind.MAP,
            Kind.LIST, Kind.TYPE, Kind.DURATION, Kind.TIMESTAMP, Kind.NULL,
        }
    ),
    "d": frozenset({Kind.INT, Kind.UINT}),
    "f": frozenset({Kind.DOUBLE, Kind.STRING}),
    "e": frozenset({Kind.DOUBLE, Kind.STRING}),
    "b": frozenset({Kind.INT, Kind.UINT, Kind.BOOL}),
    "o": frozenset({Kind.INT, Kind.UINT}),
    "x": frozenset({Kind.INT, Kind.UINT, Kind.STRING, Kind.BYTES}),
    "X": frozenset({Kind.INT, Kind.UINT, Kind.STRING, Kind.BYTES}),
}  # fmt: skip
"""Which types a clause takes."""


def format_faults(tree: CheckedTree, nodes: Iterable[Node]) -> Iterator[tuple[Node, str]]:
    """Find arguments that do not fit, and texts that are no format."""
    for node in nodes:
        match node:
            case Call(function="format", target=Literal(value=str() as template)):
                arguments = node.arguments[0]
                if isinstance(arguments, ListOf):
                    yield from _format(tree, node, template, arguments)


def _parts(node: Node) -> Iterator[Node]:
    """Walk a value and, where a list or map is written, what is in it."""
    yield node
    if isinstance(node, ListOf | MapOf):
        for child in children(node):
            yield from _parts(child)


def _format(
    tree: CheckedTree, call: Call, template: str, arguments: ListOf
) -> Iterator[tuple[Node, str]]:
    try:
        letters = [letter for letter, _ in clauses(template)]
    except EvaluationError as error:
        yield call, str(error)
        return
    for letter, argument in zip(letters, arguments.elements, strict=False):
        for part in _parts(argument) if letter == "s" else (argument,):
            kind = tree.type_of(part)
            if kind.kind is not Kind.DYN and kind.kind not in FORMATTABLE[letter]:
                yield part, f"error during formatting: %{letter} can't be used on {kind}"
                return
    given = len(arguments.elements)
    if given < len(letters):
        yield arguments, f"index {given} out of range"
    elif given > len(letters):
        yield (
            call,
            (
                "too many arguments supplied to string.format "
                f"(expected {len(letters)}, got {given})"
            ),
        )
