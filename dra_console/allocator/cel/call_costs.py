"""What calls can cost at worst, by function and overload.

Sources: cel-go's checker (`functionCost`), the cost functions of its `lists` and `sets`, and
k8s.io/apiserver/pkg/cel/library/cost.go. A call that is in none of them costs 1.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from dra_console.allocator.cel.estimates import (
    REGEX_FACTOR,
    TEXT_FACTOR,
    UNKNOWN,
    Size,
    added,
    hinted,
    scaled,
    times,
)
from dra_console.allocator.cel.list_costs import LIST_COSTS
from dra_console.allocator.cel.operands import ONE, CallEstimate, Estimate, Operand, wrapped
from dra_console.allocator.cel.text_costs import TEXT_COSTS, pattern
from dra_console.allocator.cel.tree import Kind

FORMAT_PATTERN_LENGTH: Final = 128
"""The longest pattern of a named format, as upstream assumes it."""
ADDRESS_BYTES: Final = Size(4, 16)
TEXTUAL: Final = frozenset({Kind.STRING, Kind.BYTES})
CHEAP_EQUALITY: Final = frozenset(
    {"kubernetes.Quantity", "kubernetes.Semver", "net.IP", "net.CIDR"}
)
FORMAT_SIZE: Final = 64


def estimate_call(
    function: str, overload: str, target: Operand | None, arguments: Sequence[Operand]
) -> CallEstimate:
    """Estimate a call, without its arguments."""
    estimate = LIST_COSTS.get(overload) or BY_FUNCTION.get(function)
    found = estimate(overload, target, arguments) if estimate else None
    if found is None and overload in BY_CORE_OVERLOAD:
        found = BY_CORE_OVERLOAD[overload](overload, target, arguments)
    return found or ONE


def _of_elements(
    overload: str, target: Operand | None, _: Sequence[Operand]
) -> CallEstimate | None:
    if target is None:
        return None
    if target.type.parameters:
        element = target.type.parameters[0]
        each = 1
        if element.kind in TEXTUAL:
            size = hinted(target.path.then("@items")) or UNKNOWN
            each = added(each, size.scaled(TEXT_FACTOR))
        return CallEstimate(times(target.size.greatest, each))
    if overload == "list_includes_dyn_dyn":
        return CallEstimate(target.size.greatest)
    return CallEstimate(target.size.scaled(TEXT_FACTOR))


def _along_argument(factor: float, *, keeps_size: bool = False) -> Estimate:
    def estimate(
        _: str, _target: Operand | None, arguments: Sequence[Operand]
    ) -> CallEstimate | None:
        if not arguments:
            return None
        size = arguments[0].size
        return CallEstimate(size.scaled(factor), size if keeps_size else None)

    return estimate


def _matches(
    overload: str, target: Operand | None, arguments: Sequence[Operand]
) -> CallEstimate | None:
    found = pattern(overload, target, arguments)
    return None if found is None else CallEstimate(found.cost)


def _ip(overload: str, target: Operand | None, arguments: Sequence[Operand]) -> CallEstimate | None:
    return (
        ONE if overload == "cidr_ip" else _along_argument(TEXT_FACTOR)(overload, target, arguments)
    )


def _contains_address(
    overload: str, _: Operand | None, arguments: Sequence[Operand]
) -> CallEstimate:
    cost = (ADDRESS_BYTES + ADDRESS_BYTES).scaled(TEXT_FACTOR)
    if overload.startswith("cidr_contains_cidr"):
        cost = added(cost, ADDRESS_BYTES.scaled(TEXT_FACTOR), 1)
    if overload.endswith("_string"):
        cost = added(cost, arguments[0].size.scaled(TEXT_FACTOR))
    return CallEstimate(cost)


def _validate(_: str, _target: Operand | None, arguments: Sequence[Operand]) -> CallEstimate:
    cost = arguments[0].size.scaled(TEXT_FACTOR)
    return CallEstimate(scaled(cost, FORMAT_PATTERN_LENGTH * REGEX_FACTOR))


def _equality(_: str, _target: Operand | None, arguments: Sequence[Operand]) -> CallEstimate | None:
    left, right = arguments
    if left.type != right.type:
        return None
    match left.type.name:
        case name if name in CHEAP_EQUALITY:
            return ONE
        case "kubernetes.NamedFormat":
            return CallEstimate(scaled(FORMAT_SIZE, TEXT_FACTOR))
        case "kubernetes.URL":
            return CallEstimate(scaled((right.known_size or Size.fixed(1)).greatest, TEXT_FACTOR))
    return None


def _formatted(
    _: str, target: Operand | None, _arguments: Sequence[Operand]
) -> CallEstimate | None:
    return None if target is None else CallEstimate(target.size.scaled(TEXT_FACTOR))


def _with_result(least: Callable[[Size], Size]) -> Estimate:
    def estimate(_: str, _target: Operand | None, arguments: Sequence[Operand]) -> CallEstimate:
        size = arguments[0].size
        return CallEstimate(size.scaled(TEXT_FACTOR), least(size))

    return estimate


def _in_list(_: str, _target: Operand | None, arguments: Sequence[Operand]) -> CallEstimate:
    return CallEstimate(arguments[1].size.scaled(1))


def _contains(_: str, target: Operand | None, arguments: Sequence[Operand]) -> CallEstimate | None:
    if target is None:
        return None
    wanted = arguments[0].size.scaled(TEXT_FACTOR)
    return CallEstimate(times(target.size.scaled(TEXT_FACTOR), wanted))


def _compared(_: str, _target: Operand | None, arguments: Sequence[Operand]) -> CallEstimate:
    smaller = min(arguments[0].size.greatest, arguments[1].size.greatest)
    return CallEstimate(scaled(smaller, TEXT_FACTOR))


def _joined(overload: str, _: Operand | None, arguments: Sequence[Operand]) -> CallEstimate:
    size = arguments[0].size + arguments[1].size
    return CallEstimate(1 if overload == "add_list" else size.scaled(TEXT_FACTOR), size)


BY_FUNCTION: Final[Mapping[str, Estimate]] = {
    **TEXT_COSTS,
    **dict.fromkeys(
        ("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf", "includes"), _of_elements
    ),
    "url": _along_argument(TEXT_FACTOR, keeps_size=True),
    **dict.fromkeys(("cidr", "isIP", "isCIDR"), _along_argument(TEXT_FACTOR)),
    "ip": _ip,
    "ip.isCanonical": _along_argument(2 * TEXT_FACTOR),
    **dict.fromkeys(("containsIP", "containsCIDR"), _contains_address),
    **dict.fromkeys(("quantity", "isQuantity", "semver", "isSemver"), _along_argument(TEXT_FACTOR)),
    "validate": _validate,
    "_==_": _equality,
}
BY_CORE_OVERLOAD: Final[Mapping[str, Estimate]] = {
    "string_format": _formatted,
    "string_to_bytes": _with_result(lambda size: Size(size.least, wrapped(size.greatest * 4))),
    "bytes_to_string": _with_result(lambda size: Size(size.least // 4, size.greatest)),
    "strings_quote": _with_result(
        lambda size: Size(added(size.least, 2), wrapped(size.greatest * 2 + 2))
    ),
    **dict.fromkeys(("starts_with_string", "ends_with_string"), _along_argument(TEXT_FACTOR)),
    "in_list": _in_list,
    **dict.fromkeys(("matches", "matches_string"), _matches),
    "contains_string": _contains,
    **dict.fromkeys(
        (
            *(
                f"{name}_{kind}"
                for name in ("less", "greater", "less_equals", "greater_equals")
                for kind in ("string", "bytes")
            ),
            "equals",
            "not_equals",
        ),
        _compared,
    ),
    **dict.fromkeys(("add_string", "add_bytes", "add_list"), _joined),
}
