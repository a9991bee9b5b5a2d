"""The table that people read, the JSON that programs read, and the document that explains both.

In the document everything between two marks is replaced; the words around them are people's.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.targets import Beside, Column, Faster, Seconds, Target
from dra_console.allocator.model import Json, JsonObject

NO_FIGURE: Final = "-"
BEGIN: Final = "<!-- figures of `make bench` from here -->"
END: Final = "<!-- to here -->"


@dataclass(frozen=True, slots=True)
class Row:
    """One line: what was measured, its times, and what was wanted of them."""

    id: str
    title: str
    seconds: Seconds
    targets: Sequence[Target]
    unfinished: frozenset[Column] = frozenset()
    """Columns whose search was stopped without an answer: their times are lower bounds."""

    remarks: Sequence[str] = ()
    """Figures that are no times."""

    def to_json(self) -> JsonObject:
        """Write the row with times in microseconds."""
        targets: list[Json] = [
            {
                "target": str(target),
                "met": target.is_met(self.seconds),
                "ratio": target.ratio(self.seconds)
                if isinstance(target, Faster | Beside)
                else None,
            }
            for target in self.targets
        ]
        return {
            "id": self.id,
            "title": self.title,
            "micros": {str(column): value * 1e6 for column, value in self.seconds.items()},
            "unfinished": [str(column) for column in sorted(self.unfinished)],
            "targets": targets,
            "remarks": [*self.remarks],
        }


def _ratio(target: Target, seconds: Seconds) -> float | None:
    return target.ratio(seconds) if isinstance(target, Faster | Beside) else None


def table(rows: Sequence[Row]) -> str:
    """Write a Markdown table, one line for each row, that can be read as it stands."""
    columns = [column for column in Column if any(column in row.seconds for row in rows)]
    header = ["", "scenario", *columns, "target", "measured", "met"]
    return aligned([header, *(_cells(row, columns) for row in rows)])


def aligned(lines: Sequence[Sequence[str]]) -> str:
    """Write lines of cells as a Markdown table; the first is the header."""
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    rule = ["-" * width for width in widths]
    return "\n".join(
        f"| {' | '.join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))} |"
        for line in (lines[0], rule, *lines[1:])
    )


def remarks(rows: Iterable[Row]) -> str:
    """List what the table has no column for."""
    return "\n".join(f"- {row.id} {row.title}: {each}" for row in rows for each in row.remarks)


def missed(rows: Iterable[Row]) -> list[str]:
    """List the targets that were measured and not met."""
    return [
        f"{row.id} {row.title}: {target}"
        for row in rows
        for target in row.targets
        if target.is_met(row.seconds) is False
    ]


def duration(seconds: float) -> str:
    """Write a time with three digits and the unit that suits it."""
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def _cells(row: Row, columns: Iterable[Column]) -> list[str]:
    return [
        row.id,
        row.title,
        *(_figure(row, column) for column in columns),
        "; ".join(map(str, row.targets)),
        "; ".join(_measured(target, row.seconds) for target in row.targets),
        "; ".join(_verdict(target, row.seconds) for target in row.targets),
    ]


def _figure(row: Row, column: Column) -> str:
    if column not in row.seconds:
        return NO_FIGURE
    bound = "> " if column in row.unfinished else ""
    return bound + duration(row.seconds[column])


def _measured(target: Target, seconds: Seconds) -> str:
    match target:
        case Faster() | Beside():
            ratio = target.ratio(seconds)
            return NO_FIGURE if ratio is None else f"{_three_digits(ratio)}x"
        case _ if hasattr(target, "measured"):
            return _three_digits(target.measured)
        case _:
            return duration(seconds[target.of]) if target.of in seconds else NO_FIGURE


def _three_digits(number: float) -> str:
    return f"{number:.3g}" if number < 1000 else f"{round(number):,}"  # noqa: PLR2004 - three digits


def _verdict(target: Target, seconds: Seconds) -> str:
    if isinstance(target, Beside):
        return NO_FIGURE
    return {True: "yes", False: "NO", None: "not known"}[target.is_met(seconds)]


def renew(document: Path, written: str) -> None:
    """Replace the figures of a document.

    Raises:
        ValueError: the document lacks one of the marks.

    """
    text = document.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _old, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{document}: expected the marks {BEGIN} and {END}")
    renewed = f"{before}{BEGIN}\n\n{written}\n\n{END}{after}"
    document.write_text(renewed, encoding="utf-8")


def figures(rows: Sequence[Row], facts: JsonObject) -> str:
    """Write machine, table, remarks and missed targets as Markdown."""
    not_met = [f"- {each}" for each in missed(rows)] or ["none"]
    return "\n".join(
        [listing(facts), "", table(rows), "", remarks(rows), "", "Not met:", "", *not_met],
    )


def listing(facts: JsonObject) -> str:
    """Write facts as a list."""
    return "\n".join(f"- {name.replace('_', ' ')}: {value}" for name, value in facts.items())
