"""What is known of the nodes of an expression before it is evaluated: where from, how large.

A node's value comes along a path from a variable, which limits its size by the API's rules; or
it is written there, or was estimated before. Variables of macros hide each other.
"""

from dataclasses import dataclass, field
from typing import Final

from dra_console.allocator.cel.estimates import NOWHERE, UNKNOWN, EntrySize, Path, Size, hinted
from dra_console.allocator.cel.operands import Operand
from dra_console.allocator.cel.tree import (
    CelType,
    CheckedTree,
    Kind,
    ListOf,
    Literal,
    MapOf,
    Name,
    Node,
)

SCALARS: Final = frozenset(
    {Kind.BOOL, Kind.DOUBLE, Kind.DURATION, Kind.INT, Kind.TIMESTAMP, Kind.UINT}
)
ACCUMULATOR: Final = "@result"


@dataclass(frozen=True, slots=True)
class Local:
    """A variable of a macro."""

    path: Path
    size: Size | None
    entry: EntrySize | None = None


@dataclass(slots=True)
class KnownSizes:
    """Paths, sizes and sizes of entries by the node's number, and the macros' variables by name."""

    tree: CheckedTree
    paths: dict[int, Path] = field(default_factory=dict)
    sizes: dict[int, Size] = field(default_factory=dict)
    entries: dict[int, EntrySize] = field(default_factory=dict)
    locals: dict[str, list[Local]] = field(default_factory=dict)

    def push(self, name: str, local: Local) -> None:
        """Begin the scope of a variable, which hides outer ones of its name."""
        self.locals.setdefault(name, []).append(local)

    def pop(self, name: str) -> None:
        """End the scope of a variable."""
        self.locals[name].pop()

    def walked(self, node: Node, *, wants_key: bool | None) -> Local:
        """Describe the variable that walks along: keys, values, or what one variable takes."""
        entry = self.entry(node)
        is_list = entry.is_list if entry else self.tree.type_of(node).kind is Kind.LIST
        if wants_key is None:
            wants_key = not is_list
        keys, values = ("@indices", "@items") if is_list else ("@keys", "@values")
        size = None
        if entry is not None:
            size = entry.key if wants_key else entry.value
        return Local(self.path(node).then(keys if wants_key else values), size)

    def bound(self, node: Node) -> Local:
        """Describe a variable that stands for an expression."""
        return Local(self.path(node), self.size(node), self.entry(node))

    def operand(self, node: Node) -> Operand:
        """Describe the target or an argument of a call."""
        path = self.path(node)
        if path.steps[:1] == (ACCUMULATOR,):
            path = NOWHERE
        return Operand(node, path, self.tree.type_of(node), self.size(node))

    def path(self, node: Node) -> Path:
        """Return where the value comes from, `NOWHERE` if it is computed."""
        local = self.local(node)
        return local.path if local is not None else self.paths.get(node.number, NOWHERE)

    def entry(self, node: Node) -> EntrySize | None:
        """Return how large keys and values are, if that is known."""
        known = self.entries.get(node.number)
        local = self.local(node)
        return local.entry if known is None and local is not None else known

    def set_entry(self, node: Node, entry: EntrySize | None) -> None:
        """Note how large keys and values are, where that is known."""
        if entry is not None:
            self.entries[node.number] = entry

    def cover_entries(self, node: Node, left: Node, right: Node) -> None:
        """Note that keys and values are as large as those of either, if both are known."""
        entry = self.entry(left)
        self.set_entry(node, None if entry is None else entry.union(self.entry(right)))

    def size(self, node: Node) -> Size | None:
        """Return the size, as far as it is known, written there or limited by the API."""
        known = self.sizes.get(node.number) or _written_size(node)
        if known is not None:
            return known
        hint = hinted(self.path(node))
        if hint is not None:
            self.sizes[node.number] = hint
            return hint
        if _is_scalar(self.tree.type_of(node)):
            return Size.fixed(1)
        local = self.local(node)
        return None if local is None else local.size

    def size_or_unknown(self, node: Node) -> Size:
        """Return the size, or everything."""
        return self.size(node) or UNKNOWN

    def copy(self, node: Node, source: Node) -> None:
        """Let a node be as large as another."""
        size = self.size(source)
        if size is not None:
            self.sizes[node.number] = size
        self.set_entry(node, self.entry(source))

    def local(self, node: Node) -> Local | None:
        """Return the variable that a node names, if it is one of a macro."""
        held = self.locals.get(node.name) if isinstance(node, Name) else None
        return held[-1] if held else None


def _is_scalar(kind: CelType) -> bool:
    if kind.kind is Kind.OPAQUE and kind.name == "optional_type":
        return _is_scalar(kind.parameters[0])
    return kind.kind in SCALARS


def _written_size(node: Node) -> Size | None:
    match node:
        case Literal(value=str() | bytes() as text):
            return Size.fixed(len(text))
        case Literal():
            return Size.fixed(1)
        case ListOf():
            return Size.fixed(len(node.elements))
        case MapOf() if not node.message:
            return Size.fixed(len(node.entries))
    return None
