"""Readings over time as SVG paths, with gaps where nothing is known."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

HEIGHT: Final = 100
"""Paths are drawn in a box this high and as wide as its window in seconds."""


@dataclass(frozen=True, slots=True)
class Point:
    """A value at a moment; a value that was not reported is `None`."""

    at: datetime
    value: float | None


def runs(points: Sequence[Point], *, longest_gap: timedelta) -> list[list[tuple[datetime, float]]]:
    """Cut a series where it was not reported or points are further apart than `longest_gap`."""
    result: list[list[tuple[datetime, float]]] = []
    current: list[tuple[datetime, float]] = []
    for point in points:
        if current and (point.value is None or point.at - current[-1][0] > longest_gap):
            result.append(current)
            current = []
        if point.value is not None:
            current.append((point.at, point.value))
    return [*result, current] if current else result


def line_path(
    points: Sequence[Point], *, start: datetime, highest: float, longest_gap: timedelta
) -> str:
    """Draw a line from `start` on; `highest` is the value at the top of the box."""
    return "".join(
        "M" + "L".join(_place(at, value, start=start, highest=highest) for at, value in run)
        for run in runs(points, longest_gap=longest_gap)
    )


def area_path(
    points: Sequence[Point], *, start: datetime, highest: float, longest_gap: timedelta
) -> str:
    """Draw the area below the same line."""
    path = ""
    for run in runs(points, longest_gap=longest_gap):
        first, last = _seconds(run[0][0], start=start), _seconds(run[-1][0], start=start)
        top = "L".join(_place(at, value, start=start, highest=highest) for at, value in run)
        path += f"M{first} {HEIGHT}L{top}L{last} {HEIGHT}Z"
    return path


def _place(at: datetime, value: float, *, start: datetime, highest: float) -> str:
    height = HEIGHT * (1 - min(value, highest) / highest) if highest else HEIGHT
    return f"{_seconds(at, start=start)} {height:.1f}"


def _seconds(at: datetime, *, start: datetime) -> str:
    return f"{(at - start).total_seconds():.0f}"
