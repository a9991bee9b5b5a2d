"""What calls on texts can cost at worst: Kubernetes' costs of cel-go's `strings` and of regexes."""

import math
from collections.abc import Mapping, Sequence
from typing import Final

from dra_console.allocator.cel.estimates import (
    REGEX_FACTOR,
    TEXT_FACTOR,
    UNBOUNDED,
    UNKNOWN,
    Size,
    added,
    hinted,
    times,
)
from dra_console.allocator.cel.operands import CallEstimate, Estimate, Operand, wrapped
from dra_console.allocator.cel.tree import Literal


def _along_target(
    _: str, target: Operand | None, _arguments: Sequence[Operand]
) -> CallEstimate | None:
    if target is None:
        return None
    return CallEstimate(target.size.scaled(TEXT_FACTOR), target.size)


def _replace(_: str, target: Operand | None, arguments: Sequence[Operand]) -> CallEstimate | None:
    if target is None or len(arguments) < 2:  # noqa: PLR2004  what by what
        return None
    size, old, new = target.size, arguments[0].size, arguments[1].size
    if old.least == 0:
        most, kept_most = added(size.greatest, 1), size.greatest
    elif new.greatest <= old.least:
        most, kept_most = 0, size.greatest
    else:
        most, kept_most = math.ceil(float(size.greatest) / float(old.least)), 0
    if old.greatest == 0:
        fewest, kept_least = added(size.least, 1), size.least
    elif old.greatest <= new.least:
        fewest, kept_least = 0, size.least
    else:
        fewest, kept_least = math.ceil(float(size.least) / float(old.greatest)), 0
    result = Size(fewest, min(most, UNBOUNDED)) * new + Size(kept_least, kept_most)
    return CallEstimate(size.scaled(2 * TEXT_FACTOR), result)


def _split(_: str, target: Operand | None, arguments: Sequence[Operand]) -> CallEstimate | None:
    if target is None:
        return None
    most = target.size.greatest
    if len(arguments) > 1:
        match arguments[1].node:
            case Literal(value=int() as limit):
                most = wrapped(limit)
    return CallEstimate(target.size.scaled(2 * TEXT_FACTOR), Size(0, most))


def _join(_: str, target: Operand | None, arguments: Sequence[Operand]) -> CallEstimate | None:
    if target is None:
        return None
    size = Size(0, 0)
    if target.type.parameters:
        size = target.size * (hinted(target.path.then("@items")) or UNKNOWN)
    if arguments:
        least, greatest = target.size.least, target.size.greatest
        size += arguments[0].size * Size(max(least - 1, 0), max(greatest - 1, 0))
    return CallEstimate(size.scaled(TEXT_FACTOR), size)


def pattern(_: str, target: Operand | None, arguments: Sequence[Operand]) -> CallEstimate | None:
    """Estimate a search for a pattern in a text."""
    operands = arguments if target is None else (target, *arguments)
    if len(operands) < 2:  # noqa: PLR2004  a text and a pattern
        return None
    text, sought = operands[0].size, operands[1].size
    return CallEstimate(
        times((text + Size.fixed(1)).scaled(TEXT_FACTOR), sought.scaled(REGEX_FACTOR)),
        Size(0, text.greatest),
    )


TEXT_COSTS: Final[Mapping[str, Estimate]] = {
    **dict.fromkeys(("lowerAscii", "upperAscii", "substring", "trim"), _along_target),
    "replace": _replace,
    "split": _split,
    "join": _join,
    **dict.fromkeys(("find", "findAll"), pattern),
}
"""By function."""
