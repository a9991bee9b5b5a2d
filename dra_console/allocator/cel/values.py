"""Values while an expression is evaluated, and when two of them are equal.

CEL's `int`, `double`, `bool`, `string`, `bytes` and `null` are Python's; lists are `list`, maps
are `dict`. Quantities and versions are this package's own. The rest is here.

A boolean key of a map is kept as a `TruthKey`, because Python takes `True` for `1` and CEL
does not; numbers of all types are one key if they are equal, as in CEL.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, TypeAlias

from dra_console.allocator.quantity import Quantity
from dra_console.allocator.semver import Semver

Value: TypeAlias = object
"""Any of the above; functions look at what they were given."""


class EvaluationError(Exception):
    """CEL's error value: `&&`, `||` and macros may absorb it."""


class CostExceededError(Exception):
    """The evaluation took too long; nothing absorbs this."""


class Uint(int):
    """An unsigned number."""


class TruthKey(Enum):
    """A boolean as the key of a map."""

    NO = False
    YES = True


class Domains(dict[Hashable, Value]):
    """A device's attributes or capacities by domain: an unknown one is empty, not missing."""


@dataclass(frozen=True, slots=True)
class Optional:
    """A value that may be absent."""

    value: Value
    is_present: bool = True


NONE: Final = Optional(None, is_present=False)


@dataclass(frozen=True, slots=True)
class TypeValue:
    """A type as a value."""

    name: str


TYPES: Final = {
    name: TypeValue(name)
    for name in (
        "bool",
        "bytes",
        "double",
        "int",
        "list",
        "map",
        "null_type",
        "string",
        "type",
        "uint",
        "google.protobuf.Duration",
        "google.protobuf.Timestamp",
        "net.IP",
        "net.CIDR",
    )
}
"""Types that an expression can name."""


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    """A span of time in nanoseconds."""

    nanos: int


@dataclass(frozen=True, slots=True, order=True)
class Timestamp:
    """A moment, in nanoseconds since 1970 in UTC; spelled in the zone that it was written in."""

    nanos: int
    offset_s: int = field(default=0, compare=False)


class ComputedQuantity(Quantity):
    """What `add` and `sub` return.

    Upstream cannot compare it as the right side of `==`, where it says that there is no such
    overload; on the left side and in methods it is a quantity like any other.
    """

    __slots__ = ()


class Foreign:
    """Base of the values that only functions of Kubernetes make."""

    __slots__ = ()


TYPE_NAMES: Final[Mapping[type, str]] = {
    type(None): "null_type",
    bool: "bool",
    int: "int",
    Uint: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    list: "list",
    dict: "map",
    Domains: "map",
    Optional: "optional_type",
    TypeValue: "type",
    Duration: "google.protobuf.Duration",
    Timestamp: "google.protobuf.Timestamp",
    Quantity: "kubernetes.Quantity",
    ComputedQuantity: "kubernetes.Quantity",
    Semver: "kubernetes.Semver",
}
NUMBERS: Final = frozenset({int, Uint, float})


def type_name(value: Value) -> str:
    """Name a value's type as CEL does."""
    kind = type(value)
    return TYPE_NAMES.get(kind) or str(getattr(kind, "TYPE_NAME", kind.__name__))


def no_such_overload(function: str = "", *values: Value) -> EvaluationError:
    """Say that a function is not made for these values."""
    names = ", ".join(map(type_name, values))
    return EvaluationError(
        f"no such overload: {function}({names})" if function else "no such overload"
    )


def is_number(value: Value) -> bool:
    """Tell whether a value is an int, a uint or a double."""
    return type(value) in NUMBERS


def equal(left: Value, right: Value) -> bool:  # noqa: C901, PLR0911  one type each
    """Compare as `==` does.

    Raises:
        EvaluationError: a value of Kubernetes' own types is on the left of one of another type.

    """
    if left is None or right is None:
        return left is right
    if type(left) in NUMBERS or type(right) in NUMBERS:
        if is_number(left) and is_number(right):
            return left == right
        if is_number(left):
            return False
    if isinstance(left, Quantity):
        if not isinstance(right, Quantity) or isinstance(right, ComputedQuantity):
            raise no_such_overload()
        return left.nanos == right.nanos
    if isinstance(left, Semver | Foreign):
        if type(left) is not type(right):
            raise no_such_overload()
        return left == right
    if isinstance(left, list | dict):
        return _equal_inside(left, right)
    if isinstance(left, Optional):
        if not isinstance(right, Optional) or left.is_present != right.is_present:
            return False
        return not left.is_present or is_same(left.value, right.value)
    return type(left) is type(right) and left == right


def _equal_inside(left: list[Value] | dict[Hashable, Value], right: Value) -> bool:
    if not isinstance(right, list | dict) or len(left) != len(right):
        return False
    if isinstance(left, list):
        return isinstance(right, list) and all(map(_may_be_equal, left, right))
    return isinstance(right, dict) and all(
        key in right and _may_be_equal(value, right[key]) for key, value in left.items()
    )


def _may_be_equal(left: Value, right: Value) -> bool:
    """Compare as lists and maps compare what is in them: an error is not a difference."""
    try:
        return equal(left, right)
    except EvaluationError:
        return True


def is_same(left: Value, right: Value) -> bool:
    """Compare as functions do, for which values of different types just differ."""
    try:
        return equal(left, right)
    except EvaluationError:
        return False


def as_key(value: Value) -> Hashable:
    """Turn a value into the key of a map.

    Raises:
        EvaluationError: values of this type are no keys.

    """
    if isinstance(value, bool):
        return TruthKey(value)
    if isinstance(value, str | int | float):
        return value
    raise EvaluationError(f"unsupported key type: {type_name(value)}")


def from_key(key: Hashable) -> Value:
    """Turn the key of a map into a value."""
    return key.value if isinstance(key, TruthKey) else key


def is_zero(value: Value) -> bool:
    """Tell whether a value is its type's zero, as `optional.ofNonZeroValue` sees it."""
    if isinstance(value, Duration | Timestamp):
        return False
    return value is None or (
        isinstance(value, bool | int | float | str | bytes | list | dict) and not value
    )
