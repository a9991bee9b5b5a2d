"""Every function that a selector may call, by its name.

A function looks at what it was given, so that methods of the same name on several types are
one entry.
"""

from collections.abc import Sequence
from typing import Final

from dra_console.allocator.cel import (
    addresses,
    conversions,
    formats,
    lists,
    moments,
    operators,
    patterns,
    quantities,
    strings,
    urls,
)
from dra_console.allocator.cel.operators import Function
from dra_console.allocator.cel.values import (
    NONE,
    EvaluationError,
    Optional,
    Value,
    is_zero,
    no_such_overload,
)


def _optional(value: Value) -> Optional:
    if not isinstance(value, Optional):
        raise no_such_overload()
    return value


def _value(values: Sequence[Value]) -> Value:
    optional = _optional(values[0])
    if not optional.is_present:
        raise EvaluationError("optional.none() dereference")
    return optional.value


def _of_non_zero(values: Sequence[Value]) -> Optional:
    return NONE if is_zero(values[0]) else Optional(values[0])


def _first(values: Sequence[Value]) -> Optional:
    listed = lists.entries(values[0])
    return Optional(listed[0]) if listed else NONE


def _last(values: Sequence[Value]) -> Optional:
    listed = lists.entries(values[0])
    return Optional(listed[-1]) if listed else NONE


def _unwrap(values: Sequence[Value]) -> list[Value]:
    held = [_optional(each) for each in lists.entries(values[0])]
    return [each.value for each in held if each.is_present]


OPTIONALS: Final[dict[str, Function]] = {
    "optional.of": lambda values: Optional(values[0]),
    "optional.none": lambda _: NONE,
    "optional.ofNonZeroValue": _of_non_zero,
    "hasValue": lambda values: _optional(values[0]).is_present,
    "value": _value,
    "first": _first,
    "last": _last,
    "optional.unwrap": _unwrap,
    "unwrapOpt": _unwrap,
}

FUNCTIONS: Final[dict[str, Function]] = {
    **operators.FUNCTIONS,
    **conversions.FUNCTIONS,
    **moments.FUNCTIONS,
    **strings.FUNCTIONS,
    **patterns.FUNCTIONS,
    **lists.FUNCTIONS,
    **quantities.FUNCTIONS,
    **addresses.FUNCTIONS,
    **urls.FUNCTIONS,
    **formats.FUNCTIONS,
    **OPTIONALS,
}

METHODS: Final = addresses.METHODS
"""Functions that mean something else when they are called on a value."""
