"""Functions on lists: Kubernetes' own, cel-go's `lists` (version 3) and `sets`."""

from collections.abc import Hashable, Sequence
from functools import cmp_to_key
from itertools import pairwise
from typing import Final

from dra_console.allocator.cel import strings
from dra_console.allocator.cel.arithmetic import add
from dra_console.allocator.cel.operators import Function, compare
from dra_console.allocator.cel.strings import whole
from dra_console.allocator.cel.values import (
    Duration,
    EvaluationError,
    Value,
    as_key,
    is_number,
    is_same,
    no_such_overload,
)

RANGE_LIMIT: Final = 1_000_000


def entries(value: Value) -> list[Value]:
    """Take a list.

    Raises:
        EvaluationError: the value is of another type.

    """
    if not isinstance(value, list):
        raise no_such_overload()
    return value


def _order(left: Value, right: Value) -> int:
    if type(left) is not type(right):
        raise no_such_overload()
    return compare(left, right) or 0


def _is_sorted(values: Sequence[Value]) -> bool:
    listed = entries(values[0])
    for each in listed:
        _order(each, each)
    return all(_order(first, second) <= 0 for first, second in pairwise(listed))


def _extreme(name: str, sign: int) -> Function:
    def found(values: Sequence[Value]) -> Value:
        listed = entries(values[0])
        if not listed:
            raise EvaluationError(f"{name} called on empty list")
        best = listed[0]
        for each in listed:
            _order(each, each)
            if _order(each, best) * sign > 0:
                best = each
        return best

    return found


def _sum(values: Sequence[Value]) -> Value:
    listed = entries(values[0])
    total: Value = listed[0] if listed else 0
    if not is_number(total) and not isinstance(total, Duration):
        raise no_such_overload("sum", listed)
    for each in listed[1:]:
        total = add(total, each)
    return total


def _index_of(values: Sequence[Value]) -> int:
    if isinstance(values[0], str):
        return strings.index_of(values)
    return next((at for at, each in enumerate(entries(values[0])) if is_same(each, values[1])), -1)


def _last_index_of(values: Sequence[Value]) -> int:
    if isinstance(values[0], str):
        return strings.last_index_of(values)
    listed = entries(values[0])
    return next((at for at in range(len(listed) - 1, -1, -1) if is_same(listed[at], values[1])), -1)


def _includes(values: Sequence[Value]) -> bool:
    target, wanted = values
    if isinstance(target, list):
        return any(is_same(each, wanted) for each in target)
    return is_same(target, wanted)


def _slice(values: Sequence[Value]) -> list[Value]:
    listed, start, end = entries(values[0]), whole(values[1]), whole(values[2])
    if start < 0 or end < 0:
        raise EvaluationError(f"cannot slice({start}, {end}), negative indexes not supported")
    if start > end:
        raise EvaluationError(
            f"cannot slice({start}, {end}), start index must be less than or equal to end index"
        )
    if len(listed) < end:
        raise EvaluationError(f"cannot slice({start}, {end}), list is length {len(listed)}")
    return listed[start:end]


def _flatten(values: Sequence[Value]) -> list[Value]:
    depth = whole(values[1]) if len(values) > 1 else 1
    if depth < 0:
        raise EvaluationError("level must be non-negative")
    return _flattened(entries(values[0]), depth)


def _flattened(listed: list[Value], depth: int) -> list[Value]:
    flat: list[Value] = []
    for each in listed:
        if isinstance(each, list) and depth > 0:
            flat.extend(_flattened(each, depth - 1))
        else:
            flat.append(each)
    return flat


def _range(values: Sequence[Value]) -> list[Value]:
    count = whole(values[0])
    if count < 0:
        raise EvaluationError(f"lists.range: size must be non-negative, got {count}")
    if count > RANGE_LIMIT:
        raise EvaluationError(f"lists.range: size {count} exceeds maximum allowed ({RANGE_LIMIT})")
    return [*range(count)]


def _distinct(values: Sequence[Value]) -> list[Value]:
    unique: list[Value] = []
    for each in entries(values[0]):
        if not any(is_same(each, known) for known in unique):
            unique.append(each)
    return unique


def _sort(values: Sequence[Value]) -> list[Value]:
    listed = entries(values[0])
    if listed:
        _order(listed[0], listed[0])
    return sorted(listed, key=cmp_to_key(_order))


def _contains_all(listed: Value, wanted: Value) -> bool:
    within = entries(listed)
    return all(any(is_same(each, one) for each in within) for one in entries(wanted))


def _intersects(values: Sequence[Value]) -> bool:
    others = entries(values[1])
    return any(is_same(each, other) for each in entries(values[0]) for other in others)


def _map_insert(values: Sequence[Value]) -> dict[Hashable, Value]:
    """Add an entry or a map's entries, for `transformMap` and `transformMapEntry`."""
    target = values[0]
    if not isinstance(target, dict):
        raise no_such_overload()
    if len(values) == 2 and isinstance(values[1], dict):  # noqa: PLR2004  a map of entries
        added = values[1]
    else:
        added = {as_key(values[1]): values[2]}
    for key in added:
        if key in target:
            raise EvaluationError(f"insert failed: key {key!r} already exists")
    return target | added


FUNCTIONS: Final[dict[str, Function]] = {
    "isSorted": _is_sorted,
    "min": _extreme("min", -1),
    "max": _extreme("max", 1),
    "sum": _sum,
    "indexOf": _index_of,
    "lastIndexOf": _last_index_of,
    "includes": _includes,
    "slice": _slice,
    "flatten": _flatten,
    "lists.range": _range,
    "reverse": lambda values: entries(values[0])[::-1],
    "distinct": _distinct,
    "sort": _sort,
    "sets.contains": lambda values: _contains_all(values[0], values[1]),
    "sets.equivalent": lambda values: (
        _contains_all(values[0], values[1]) and _contains_all(values[1], values[0])
    ),
    "sets.intersects": _intersects,
    "cel.@mapInsert": _map_insert,
}
