"""What calls on lists can cost at worst: cel-go's `lists` (version 3) and `sets`, by overload."""

from collections.abc import Mapping, Sequence
from typing import Final

from dra_console.allocator.cel.estimates import (
    LIST_COST,
    TEXT_FACTOR,
    UNBOUNDED,
    Size,
    added,
)
from dra_console.allocator.cel.operands import CallEstimate, Estimate, Operand, literal, wrapped


def _made(factor: float, size: Size) -> CallEstimate:
    return CallEstimate(added(size.scaled(factor), 1, LIST_COST), size)


def _slice(_: str, target: Operand | None, arguments: Sequence[Operand]) -> CallEstimate | None:
    if target is None:
        return None
    start = literal(arguments[0], 0)
    end = literal(arguments[1], target.size.greatest)
    return _made(1, Size.fixed(wrapped(end - start)))


def _range(_: str, _target: Operand | None, arguments: Sequence[Operand]) -> CallEstimate:
    return _made(1, Size.fixed(literal(arguments[0], UNBOUNDED)))


def _reverse(_: str, target: Operand | None, _arguments: Sequence[Operand]) -> CallEstimate | None:
    return None if target is None else _made(1, target.size)


def _flatten(_: str, target: Operand | None, arguments: Sequence[Operand]) -> CallEstimate | None:
    if target is None:
        return None
    depth = literal(arguments[0], UNBOUNDED) if arguments else 1
    return _made(float(depth), target.size)


def _squared(factor: float) -> Estimate:
    def estimate(
        _: str, target: Operand | None, _arguments: Sequence[Operand]
    ) -> CallEstimate | None:
        return None if target is None else _made(factor, target.size * target.size)

    return estimate


def _sets(factor: int) -> Estimate:
    def estimate(_: str, _target: Operand | None, arguments: Sequence[Operand]) -> CallEstimate:
        product = arguments[0].size * arguments[1].size
        return CallEstimate(added(product.scaled(factor), 1))

    return estimate


LIST_COSTS: Final[Mapping[str, Estimate]] = {
    "list_slice": _slice,
    "lists_range": _range,
    "list_reverse": _reverse,
    **dict.fromkeys(("list_flatten", "list_flatten_int"), _flatten),
    "list_distinct": _squared(2),
    **{
        f"list_{name}_sort": _squared(2 + TEXT_FACTOR if name in {"string", "bytes"} else 2)
        for name in (
            "int", "uint", "double", "bool", "string", "bytes",
            "google.protobuf.Duration", "google.protobuf.Timestamp",
        )
    },
    **dict.fromkeys(("list_sets_contains_list", "list_sets_intersects_list"), _sets(1)),
    "list_sets_equivalent_list": _sets(2),
}  # fmt: skip
