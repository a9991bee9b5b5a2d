"""What Kubernetes checks of a selector beyond its types.

Lists and maps written in an expression hold one type; patterns, durations, timestamps and
conversions of constants must be right; a format fits its arguments (`format_checks`); the result
is a boolean or an attribute.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from dra_console.allocator.cel import patterns
from dra_console.allocator.cel.conversions import FUNCTIONS as CONVERSIONS
from dra_console.allocator.cel.faults import CompileFault
from dra_console.allocator.cel.format_checks import format_faults
from dra_console.allocator.cel.library import FUNCTIONS
from dra_console.allocator.cel.text import position
from dra_console.allocator.cel.tree import (
    Call,
    CelType,
    CheckedTree,
    Fold,
    Kind,
    ListOf,
    Literal,
    MapOf,
    Name,
    Node,
    Select,
    Unsigned,
    children,
    walk,
)
from dra_console.allocator.cel.values import (
    TYPE_NAMES,
    TYPES,
    Duration,
    EvaluationError,
    Timestamp,
    TypeValue,
    Uint,
    Value,
)
from dra_console.allocator.semver import Semver

NOT_OFFERED: Final = "is not offered to selectors"
DERIVABLE: Final = frozenset({Kind.BOOL, Kind.INT, Kind.STRING, Kind.ANY, Kind.DYN})
"""Types of a derived attribute and of its elements, beside versions."""


def fault_of(tree: CheckedTree, expression: str, *, attribute: Kind) -> CompileFault | None:
    """Return the first thing that is wrong; `attribute` is the type of an attribute's value."""
    result = tree.type_of(tree.root)
    is_fine = result.kind in {Kind.BOOL, attribute}
    message = f"must evaluate to bool or the unknown type, not {result}"
    return _fault_of(tree, expression, result="" if is_fine else message)


def derivation_fault_of(tree: CheckedTree, expression: str) -> CompileFault | None:
    """Return the first thing that is wrong with the expression of a derived attribute."""
    result = tree.type_of(tree.root)
    element = result.parameters[0] if result.kind is Kind.LIST and result.parameters else result
    is_fine = element.kind in DERIVABLE or element.name == TYPE_NAMES[Semver]
    message = (
        "must evaluate to a primitive scalar (string, integer, boolean, semver) "
        f"or a list of these scalars, not {result}"
    )
    return _fault_of(tree, expression, result="" if is_fine else message)


def _fault_of(tree: CheckedTree, expression: str, *, result: str) -> CompileFault | None:
    nodes = [*walk(tree.root)]
    faults = [*_constants(nodes), *format_faults(tree, nodes)]
    if any(isinstance(node, ListOf | MapOf) for node in nodes):
        faults += _mixed(tree, tree.root)
    if faults:
        found = ((tree.offsets.get(node.number, 0), message) for node, message in faults)
        offset, message = min(found)
        line, column = position(expression, offset)
        return CompileFault(message, line, column)
    return CompileFault(result) if result else _when_built(nodes)


def _mixed(tree: CheckedTree, node: Node) -> Iterator[tuple[Node, str]]:
    """Find elements of a list, keys and values of a map whose type is not the first one's."""
    if isinstance(node, Call) and node.function == "format":
        return
    groups: tuple[tuple[Node, ...], ...] = ()
    optional: frozenset[int] = frozenset()
    if isinstance(node, ListOf):
        groups, optional = (node.elements,), frozenset(node.optional_indices)
    elif isinstance(node, MapOf) and not node.message:
        keys = tuple(entry.key for entry in node.entries if not isinstance(entry.key, str))
        groups = (keys, tuple(entry.value for entry in node.entries if not entry.is_optional))
    for group in groups:
        types = [
            _unwrapped(tree.type_of(each)) if index in optional else tree.type_of(each)
            for index, each in enumerate(group)
        ]
        for each, kind in zip(group[1:], types[1:], strict=True):
            is_open = kind.kind is types[0].kind and (_is_empty(group[0]) or _is_empty(each))
            if kind != types[0] and not is_open:
                yield each, f"expected type '{types[0]}' but found '{kind}'"
                break
    for child in children(node):
        yield from _mixed(tree, child)


def _unwrapped(kind: CelType) -> CelType:
    return kind.parameters[0] if kind.parameters else kind


def _is_empty(node: Node) -> bool:
    """Tell whether a list or map is written without content, whose type fits any."""
    return (isinstance(node, ListOf) and not node.elements) or (
        isinstance(node, MapOf) and not node.entries
    )


def _constants(nodes: Iterable[Node]) -> Iterator[tuple[Node, str]]:
    for node in nodes:
        if not isinstance(node, Call):
            continue
        last = node.operands[-1] if node.operands else None
        if not isinstance(last, Literal):
            continue
        if node.function == "matches" and patterns.fault(str(last.value)) is not None:
            yield last, "invalid matches argument"
        if node.function in {"duration", "timestamp"}:
            try:
                _constant_value(node)
            except EvaluationError:
                yield last, f"invalid {node.function} argument"


def _when_built(nodes: Sequence[Node]) -> CompileFault | None:
    """Find what upstream finds when it makes a program: constants that fail."""
    for node in nodes:
        if isinstance(node, Name):
            package = node.name.removeprefix(".").partition(".")[0]
            if "." in node.name and package != "device" and node.name not in TYPES:
                return CompileFault(f"undeclared reference to '{package}'")
        if not isinstance(node, Call):
            continue
        if node.function not in FUNCTIONS and node.function not in OPERATORS:
            return CompileFault(f"'{node.function}' {NOT_OFFERED}")
        try:
            _constant_value(node)
        except EvaluationError as error:
            return CompileFault(f"program instantiation failed: {error}")
        if node.function in {"_[_]", "_[?_]"} and _is_no_key(node.arguments[1]):
            return CompileFault("program instantiation failed: invalid qualifier type")
        if node.function in {"find", "findAll"} and isinstance(node.operands[1], Literal):
            message = patterns.fault(str(node.operands[1].value))
            if message is not None:
                return CompileFault(f"program instantiation failed: {message}")
    messages = [node for node in nodes if isinstance(node, MapOf) and node.message]
    return CompileFault(f"'{messages[0].message}' {NOT_OFFERED}") if messages else None


OPERATORS: Final = frozenset(
    {"_&&_", "_||_", "!_", "_?_:_", "@not_strictly_false", "_?._", "_[?_]", "orValue", "or"}
)
"""Functions that are not in the library because they do not just take values."""


def _is_no_key(node: Node) -> bool:
    """Tell whether a constant is of a type that nothing is looked up by."""
    if isinstance(node, Literal):
        return node.value is None or isinstance(node.value, bytes)
    if isinstance(node, ListOf | MapOf):
        return not any(isinstance(each, Name | Select | Call | Fold) for each in walk(node))
    try:
        constant = _constant_value(node)
    except EvaluationError:
        return False
    return constant is not None and isinstance(constant[0], Duration | Timestamp | TypeValue)


def _constant_value(node: Node) -> tuple[Value] | None:
    """Convert constants, and what is converted from them already; the value in a tuple.

    Raises:
        EvaluationError: the conversion fails.

    """
    match node:
        case Literal(value=Unsigned() as unsigned):
            return (Uint(unsigned.value),)
        case Literal():
            return (node.value,)
        case Call(arguments=(argument,), target=None) if node.function in CONVERSIONS:
            value = _constant_value(argument)
            return None if value is None else (CONVERSIONS[node.function]([*value]),)
    return None
