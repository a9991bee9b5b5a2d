"""What a call really costs, in CEL's units, by what it was given and what it gave.

Costs are those of cel-go's run-time tracker and of k8s.io/apiserver/pkg/cel/library/cost.go;
a function without an entry costs 1.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from dra_console.allocator.cel.values import CostExceededError, Optional, Value
from dra_console.allocator.quantity import Quantity
from dra_console.allocator.semver import Semver

LIST, MAP = 10, 30
"""Creating a list, a map."""
TEXT_FACTOR: Final = 0.1
"""For walking along a text, by character."""
REGEX_FACTOR: Final = 0.25

SIZELESS: Final = frozenset({bool, int, float, Quantity, Semver})

Cost: TypeAlias = Callable[[Sequence[Value], Value], int]


def size_of(value: Value) -> int:
    """Count what CEL's `size` counts; anything without a size is 1."""
    if type(value) in SIZELESS:
        return 1
    if isinstance(value, str | bytes | list | dict):
        return len(value)
    if isinstance(value, Optional) and value.is_present:
        return size_of(value.value)
    return 1


def _scaled(size: float, factor: float = TEXT_FACTOR) -> int:
    return math.ceil(size * factor)


def _along(index: int, times: int = 1) -> Cost:
    """Charge for walking along an argument, as often."""
    return lambda values, _: _scaled(size_of(values[index]) * times)


def _traversal(value: Value) -> int:
    if isinstance(value, str | bytes):
        return int(len(value) * TEXT_FACTOR)
    if isinstance(value, list):
        return sum(map(_traversal, value))
    if isinstance(value, dict):
        return sum(_traversal(key) + _traversal(each) for key, each in value.items())
    return 1


def _all_of(values: Sequence[Value], _: Value) -> int:
    return _traversal(values[0])


def _both(values: Sequence[Value], _: Value) -> int:
    return _scaled(min(size_of(values[0]), size_of(values[1])))


def _ordered(values: Sequence[Value], result: Value) -> int:
    return _both(values, result) if isinstance(values[0], str | bytes) else 1


def _joined(values: Sequence[Value], _: Value) -> int:
    if isinstance(values[0], str | bytes):
        return _scaled(size_of(values[0]) + size_of(values[1]))
    return 1


def _matched(values: Sequence[Value], _: Value) -> int:
    return _scaled(1 + size_of(values[0])) * _scaled(size_of(values[1]), REGEX_FACTOR)


def _contained(values: Sequence[Value], _: Value) -> int:
    return _scaled(size_of(values[0])) * _scaled(size_of(values[1]))


def _looked_in(values: Sequence[Value], _: Value) -> int:
    return size_of(values[1]) if isinstance(values[1], list) else 1


def _made(_: Sequence[Value], result: Value) -> int:
    return size_of(result) + 1 + LIST


def _compared_with_itself(values: Sequence[Value], _: Value) -> int:
    size = size_of(values[0])
    entries = values[0] if isinstance(values[0], list) else []
    factor = 2 + TEXT_FACTOR if entries and isinstance(entries[0], str | bytes) else 2
    return int(size * size * factor) + 1 + LIST


def _sets(times: int) -> Cost:
    return lambda values, _: 1 + size_of(values[0]) * size_of(values[1]) * times


ITEMS_LIMIT: Final = 1_000_000
"""No evaluation may walk along more, whatever upstream charges for it."""
PREPAID: Final = frozenset(
    {"sort", "distinct", "sets.contains", "sets.intersects", "sets.equivalent", "contains"}
)
"""Functions that are charged before they begin, as they take long."""


def refuse_deep(values: Sequence[Value]) -> None:
    """Refuse lists of lists that hold more than could be walked along.

    Lists may share parts, so a short expression can hold billions of entries, and comparing
    them is charged by the outermost list alone.

    Raises:
        CostExceededError: there are too many entries.

    """
    waiting = [value for value in values if isinstance(value, list | dict)]
    seen = 0
    while waiting:
        held = waiting.pop()
        entries = held if isinstance(held, list) else [*held.values()]
        seen += len(entries)
        if seen > ITEMS_LIMIT:
            raise CostExceededError
        waiting += [entry for entry in entries if isinstance(entry, list | dict)]


COSTS: Final[Mapping[str, Cost]] = {
    **dict.fromkeys(
        ("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf", "includes"), _all_of
    ),
    **dict.fromkeys(("url", "lowerAscii", "upperAscii", "substring", "trim"), _along(0)),
    **dict.fromkeys(("replace", "split"), _along(0, 2)),
    "join": lambda _, result: _scaled(size_of(result) * 2),
    **dict.fromkeys(("find", "findAll", "matches"), _matched),
    **dict.fromkeys(("cidr", "isIP", "isCIDR", "ip"), _along(0)),
    "ip.isCanonical": _along(0, 2),
    **dict.fromkeys(("quantity", "isQuantity", "semver", "isSemver"), _along(0)),
    **dict.fromkeys(("startsWith", "endsWith"), _along(1)),
    **dict.fromkeys(("format", "strings.quote", "bytes"), _along(0)),
    "contains": _contained,
    "@in": _looked_in,
    **dict.fromkeys(("_==_", "_!=_"), _both),
    **dict.fromkeys(("_<_", "_<=_", "_>_", "_>=_"), _ordered),
    "_+_": _joined,
    **dict.fromkeys(("slice", "lists.range", "reverse", "flatten"), _made),
    **dict.fromkeys(("sort", "distinct"), _compared_with_itself),
    **dict.fromkeys(("sets.contains", "sets.intersects"), _sets(1)),
    "sets.equivalent": _sets(2),
}
