"""Puts the figures of a run into the document that explains them.

Everything between the two marks is replaced; the words around them are people's.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchmarks.table import Row, missed, remarks, table
from dra_console.allocator.model import JsonObject

BEGIN: Final = "<!-- figures of `make bench` from here -->"
END: Final = "<!-- to here -->"


def renew(document: Path, rows: Sequence[Row], facts: JsonObject) -> None:
    """Replace the figures of a document.

    Raises:
        ValueError: the document lacks one of the marks.

    """
    text = document.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _old, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{document}: expected the marks {BEGIN} and {END}")
    renewed = f"{before}{BEGIN}\n\n{figures(rows, facts)}\n\n{END}{after}"
    document.write_text(renewed, encoding="utf-8")


def figures(rows: Sequence[Row], facts: JsonObject) -> str:
    """Write machine, table, remarks and missed targets as Markdown."""
    machine = "\n".join(f"- {name.replace('_', ' ')}: {value}" for name, value in facts.items())
    not_met = [f"- {each}" for each in missed(rows)] or ["none"]
    return "\n".join(
        [machine, "", table(rows), "", remarks(rows), "", "Not met:", "", *not_met],
    )
