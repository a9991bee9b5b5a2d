"""The tree of an expression: nodes as cel-spec's `syntax.proto` has them, with macros expanded.

A node's number is its key in the tables of a `CheckedTree`: type, overloads, offset.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias


class Kind(StrEnum):
    """What a type is, as far as checks and cost estimates tell types apart."""

    DYN = "dyn"
    NULL = "null_type"
    BOOL = "bool"
    INT = "int"
    UINT = "uint"
    DOUBLE = "double"
    STRING = "string"
    BYTES = "bytes"
    ANY = "any"
    TIMESTAMP = "timestamp"
    DURATION = "duration"
    LIST = "list"
    MAP = "map"
    MESSAGE = "message"
    OPAQUE = "opaque"
    TYPE = "type"
    PARAMETER = "parameter"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class CelType:
    """A static type; `name` for messages, opaque types and parameters."""

    kind: Kind
    name: str = ""
    parameters: tuple["CelType", ...] = ()

    def __str__(self) -> str:
        if not self.parameters:
            return self.name or self.kind.value
        return f"{self.name or self.kind.value}({', '.join(map(str, self.parameters))})"


DYN = CelType(Kind.DYN)


@dataclass(frozen=True, slots=True)
class Unsigned:
    """An unsigned literal, which is another type than a signed one."""

    value: int


Constant: TypeAlias = bool | int | Unsigned | float | str | bytes | None


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant."""

    number: int
    value: Constant


@dataclass(frozen=True, slots=True)
class Name:
    """A variable."""

    number: int
    name: str


@dataclass(frozen=True, slots=True)
class Select:
    """`operand.field`, or `has(operand.field)`."""

    number: int
    operand: "Node"
    field: str
    is_presence_test: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """`function(arguments)`, `target.function(arguments)`, or an operator."""

    number: int
    function: str
    arguments: tuple["Node", ...]
    target: "Node | None" = None

    @property
    def operands(self) -> tuple["Node", ...]:
        """List the target, if any, and the arguments."""
        return self.arguments if self.target is None else (self.target, *self.arguments)


@dataclass(frozen=True, slots=True)
class ListOf:
    """`[a, ?b]`."""

    number: int
    elements: tuple["Node", ...]
    optional_indices: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of a map; of a message, where the key is the name of a field."""

    number: int
    key: "Node | str"
    value: "Node"
    is_optional: bool = False


@dataclass(frozen=True, slots=True)
class MapOf:
    """`{key: value}`, or `Message{field: value}`."""

    number: int
    message: str
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Fold:
    """A comprehension, which macros expand to."""

    number: int
    variable: str
    second_variable: str
    range: "Node"
    accumulator: str
    start: "Node"
    condition: "Node"
    step: "Node"
    result: "Node"


Node: TypeAlias = Literal | Name | Select | Call | ListOf | MapOf | Fold


@dataclass(frozen=True, slots=True)
class CheckedTree:
    """A type-checked expression."""

    root: Node
    types: Mapping[int, CelType]
    overloads: Mapping[int, tuple[str, ...]]
    offsets: Mapping[int, int]
    """Where a node starts, in characters from 0."""

    def type_of(self, node: Node) -> CelType:
        """Return the static type of a node."""
        return self.types.get(node.number, DYN)


def children(node: Node) -> tuple[Node, ...]:
    """List the nodes right below, in the order of the text."""
    match node:
        case Literal() | Name():
            return ()
        case Select():
            return (node.operand,)
        case Call():
            return node.operands
        case ListOf():
            return node.elements
        case MapOf():
            return tuple(
                each
                for entry in node.entries
                for each in (
                    (entry.value,) if isinstance(entry.key, str) else (entry.key, entry.value)
                )
            )
        case Fold():
            return (node.range, node.start, node.condition, node.step, node.result)


def walk(node: Node) -> Iterator[Node]:
    """Walk a node and all below it, in the order of the text."""
    left = [node]
    while left:
        each = left.pop()
        yield each
        below = children(each)
        if below:
            left += below[::-1]
