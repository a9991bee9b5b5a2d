"""Comparisons, indexing and sizes, and all operators by name."""

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from dra_console.allocator.cel.arithmetic import add, divide, modulo, multiply, negate, subtract
from dra_console.allocator.cel.values import (
    NONE,
    Domains,
    Duration,
    EvaluationError,
    Optional,
    Timestamp,
    Value,
    as_key,
    equal,
    is_number,
    is_same,
    no_such_overload,
    type_name,
)

Function: TypeAlias = Callable[[Sequence[Value]], Value]


def compare(left: Value, right: Value) -> int | None:
    """Order two values: -1, 0 or 1; `None` if one is not a number at all (NaN).

    Raises:
        EvaluationError: they have no order.

    """
    match left, right:
        case bool(), bool():
            return left - right
        case (bool(), _) | (_, bool()):
            pass
        case int() | float(), int() | float():
            return None if left != left or right != right else (left > right) - (left < right)  # noqa: PLR0124  NaN
        case str(), str():
            return (left.encode() > right.encode()) - (left.encode() < right.encode())
        case bytes(), bytes():
            return (left > right) - (left < right)
        case Duration(), Duration():
            return (left > right) - (left < right)
        case Timestamp(), Timestamp():
            return (left > right) - (left < right)
    raise no_such_overload()


def is_in(wanted: Value, container: Value) -> bool:
    """Look for an element of a list or a key of a map."""
    if isinstance(container, list):
        return any(is_same(wanted, each) for each in container)
    if isinstance(container, dict):
        try:
            return as_key(wanted) in container
        except EvaluationError:
            return False
    raise no_such_overload()


def item(container: Value, key: Value) -> Value:
    """Look up `container[key]`."""
    found = item_or_none(container, key)
    if isinstance(found, Optional):
        raise _missing(container, key)
    return found[0]


def _missing(container: Value, key: Value) -> EvaluationError:
    if isinstance(container, list):
        if is_number(key):
            return EvaluationError(f"index out of bounds: {key}")
        return EvaluationError(f"unsupported index type '{type_name(key)}' in list")
    spelled = str(key).lower() if isinstance(key, bool) else key
    return EvaluationError(f"no such key: {spelled}")


def item_or_none(container: Value, key: Value) -> tuple[Value] | Optional:  # noqa: PLR0911  one type each
    """Look up; the value in a tuple, or `NONE`."""
    if type(container) is dict and type(key) is str:  # the usual case first
        return (container[key],) if key in container else NONE
    if isinstance(container, Domains):
        try:
            return (container.get(as_key(key), {}),)
        except EvaluationError:
            return ({},)
    if isinstance(container, dict):
        try:
            known = as_key(key)
        except EvaluationError:
            return NONE
        return (container[known],) if known in container else NONE
    if isinstance(container, list) and is_number(key) and key == int(key):  # type: ignore[call-overload]
        index = int(key)  # type: ignore[call-overload]  # a number, as just seen
        return (container[index],) if 0 <= index < len(container) else NONE
    return NONE


def size(value: Value) -> int:
    """Count characters, bytes, elements or entries."""
    if isinstance(value, str | bytes | list | dict):
        return len(value)
    raise no_such_overload("size", value)


def _ordering(holds: Callable[[int], bool]) -> Function:
    def compared(values: Sequence[Value]) -> bool:
        left, right = values
        order = compare(left, right)
        return order is not None and holds(order)

    return compared


FUNCTIONS: Final[dict[str, Function]] = {
    "_+_": lambda values: add(values[0], values[1]),
    "_-_": lambda values: subtract(values[0], values[1]),
    "_*_": lambda values: multiply(values[0], values[1]),
    "_/_": lambda values: divide(values[0], values[1]),
    "_%_": lambda values: modulo(values[0], values[1]),
    "-_": lambda values: negate(values[0]),
    "_==_": lambda values: equal(values[0], values[1]),
    "_!=_": lambda values: not is_same(values[0], values[1]),
    "_<_": _ordering(lambda order: order < 0),
    "_<=_": _ordering(lambda order: order <= 0),
    "_>_": _ordering(lambda order: order > 0),
    "_>=_": _ordering(lambda order: order >= 0),
    "@in": lambda values: is_in(values[0], values[1]),
    "_[_]": lambda values: item(values[0], values[1]),
    "size": lambda values: size(values[0]),
}
