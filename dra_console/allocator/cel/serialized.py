"""The engine's serialised expressions, read into trees.

Field numbers are those of cel-spec's `checked.proto` and `syntax.proto`.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial
from typing import Final, TypeVar

from dra_console.allocator.cel import wire
from dra_console.allocator.cel.tree import (
    DYN,
    Call,
    CelType,
    CheckedTree,
    Constant,
    Entry,
    Fold,
    Kind,
    ListOf,
    Literal,
    MapOf,
    Name,
    Node,
    Select,
    Unsigned,
)

Row = TypeVar("Row")
PRIMITIVES: Final = (
    Kind.OTHER,
    Kind.BOOL,
    Kind.INT,
    Kind.UINT,
    Kind.DOUBLE,
    Kind.STRING,
    Kind.BYTES,
)
WELL_KNOWN: Final = (Kind.OTHER, Kind.ANY, Kind.TIMESTAMP, Kind.DURATION)
NULL, BOOL, INT, UINT, DOUBLE, STRING, BYTES = range(1, 8)
"""Alternatives of `Constant`."""
TYPES_KEPT: Final = 1_024


class Table(Mapping[int, Row]):
    """What is known of nodes by number, read when first asked for: most of it never is."""

    __slots__ = ("_known", "_read")

    def __init__(self, read: Callable[[], Mapping[int, Row]]) -> None:
        self._read: Final = read
        self._known: Mapping[int, Row] | None = None

    @property
    def _rows(self) -> Mapping[int, Row]:
        if self._known is None:
            self._known = self._read()
        return self._known

    def __getitem__(self, number: int) -> Row:
        return self._rows[number]

    def __iter__(self) -> Iterator[int]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


def read_checked(serialized: bytes) -> CheckedTree:
    """Read what the engine's `serialize` made of a checked expression."""
    checked = wire.fields(wire.message(wire.fields(serialized), 2))
    return CheckedTree(
        _node(wire.message(checked, 4)),
        types=Table(partial(_types, checked)),
        overloads=Table(partial(_overloads, checked)),
        offsets=Table(partial(_offsets, checked)),
    )


def _types(checked: wire.Fields) -> Mapping[int, CelType]:
    entries = map(wire.map_entry, wire.messages(checked, 3))
    return {number: _type(raw) for number, raw in entries}


def _overloads(checked: wire.Fields) -> Mapping[int, tuple[str, ...]]:
    return {
        number: tuple(each.decode() for each in wire.messages(wire.fields(reference), 3))
        for number, reference in map(wire.map_entry, wire.messages(checked, 2))
    }


def _offsets(checked: wire.Fields) -> Mapping[int, int]:
    entries = map(wire.fields, wire.messages(wire.fields(wire.message(checked, 5)), 4))
    return {wire.whole(entry, 1): wire.whole(entry, 2) for entry in entries}


@lru_cache(maxsize=TYPES_KEPT)
def _type(raw: bytes) -> CelType:  # noqa: C901, PLR0911  one alternative of the message each
    found = wire.fields(raw)
    (number,) = found or (1,)
    match number:
        case 1:
            return DYN
        case 2:
            return CelType(Kind.NULL)
        case 3:
            return CelType(PRIMITIVES[wire.natural(found, 3)])
        case 4:
            return CelType(Kind.OPAQUE, "wrapper", (CelType(PRIMITIVES[wire.natural(found, 4)]),))
        case 5:
            return CelType(WELL_KNOWN[wire.natural(found, 5)])
        case 6:
            inner = wire.fields(wire.message(found, 6))
            return CelType(Kind.LIST, "", (_type(wire.message(inner, 1)),))
        case 7:
            inner = wire.fields(wire.message(found, 7))
            return CelType(
                Kind.MAP, "", (_type(wire.message(inner, 1)), _type(wire.message(inner, 2)))
            )
        case 9:
            return CelType(Kind.MESSAGE, wire.text(found, 9))
        case 10:
            return CelType(Kind.PARAMETER, wire.text(found, 10))
        case 11:
            return CelType(Kind.TYPE, "", (_type(wire.message(found, 11)),))
        case 14:
            inner = wire.fields(wire.message(found, 14))
            return CelType(
                Kind.OPAQUE, wire.text(inner, 1), tuple(map(_type, wire.messages(inner, 2)))
            )
    return CelType(Kind.OTHER)


def _node(raw: bytes) -> Node:
    found = wire.fields(raw)
    number = wire.whole(found, 2)
    for alternative, read in READERS.items():
        if alternative in found:
            return read(number, wire.fields(wire.message(found, alternative)))
    raise ValueError("an expression of an unknown kind")


def _literal(number: int, found: wire.Fields) -> Node:
    value: Constant = None
    if BOOL in found:
        value = bool(wire.natural(found, BOOL))
    elif INT in found:
        value = wire.whole(found, INT)
    elif UINT in found:
        value = Unsigned(wire.natural(found, UINT))
    elif DOUBLE in found:
        value = wire.double(found, DOUBLE)
    elif STRING in found:
        value = wire.text(found, STRING)
    elif BYTES in found:
        value = wire.message(found, BYTES)
    return Literal(number, value)


def _name(number: int, found: wire.Fields) -> Node:
    return Name(number, wire.text(found, 1))


def _select(number: int, found: wire.Fields) -> Node:
    return Select(
        number, _node(wire.message(found, 1)), wire.text(found, 2), bool(wire.natural(found, 3))
    )


def _call(number: int, found: wire.Fields) -> Node:
    return Call(
        number,
        wire.text(found, 2),
        tuple(map(_node, wire.messages(found, 3))),
        _node(wire.message(found, 1)) if 1 in found else None,
    )


def _list(number: int, found: wire.Fields) -> Node:
    return ListOf(number, tuple(map(_node, wire.messages(found, 1))), tuple(wire.packed(found, 2)))


def _map(number: int, found: wire.Fields) -> Node:
    entries = []
    for entry in map(wire.fields, wire.messages(found, 2)):
        key = _node(wire.message(entry, 3)) if 3 in entry else wire.text(entry, 2)  # noqa: PLR2004
        is_optional = bool(wire.natural(entry, 5))
        value = _node(wire.message(entry, 4))
        entries.append(Entry(wire.whole(entry, 1), key, value, is_optional))
    return MapOf(number, wire.text(found, 1), tuple(entries))


def _fold(number: int, found: wire.Fields) -> Node:
    parts = {part: _node(wire.message(found, part)) for part in (2, 4, 5, 6, 7)}
    return Fold(
        number=number,
        variable=wire.text(found, 1),
        second_variable=wire.text(found, 8),
        range=parts[2],
        accumulator=wire.text(found, 3),
        start=parts[4],
        condition=parts[5],
        step=parts[6],
        result=parts[7],
    )


READERS: Final[dict[int, Callable[[int, wire.Fields], Node]]] = {
    3: _literal,
    4: _name,
    5: _select,
    6: _call,
    7: _list,
    8: _map,
    9: _fold,
}
"""Alternatives of `Expr`."""
