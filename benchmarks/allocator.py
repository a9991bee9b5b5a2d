"""How fast the allocator is: `python -m benchmarks.allocator [--only B4] [--json FILE]`.

Every scenario of `performance.md` (B1 to B8, B12) beside the plain method in Python and
beside Kubernetes' own allocator in Go, in one run on one machine. Answers are compared
before anything is timed. Prints a table and writes JSON; asserts no time.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from benchmarks.churning import streams
from benchmarks.indexing import index_questions
from benchmarks.machine import machine
from benchmarks.measuring import measure
from benchmarks.questions import explanations, selections
from benchmarks.scenarios import Scale, scenarios
from benchmarks.table import Row, figures, renew
from benchmarks.upstream import Upstream, build_oracle


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="one id, such as B4; writes no file")
    parser.add_argument("--nodes", type=int, default=5_000, help="nodes of the largest fleet")
    parser.add_argument("--seconds", type=float, default=0.5, help="how long to repeat a figure")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    parser.add_argument("--document", type=Path, help="Markdown file whose figures to renew")
    options = parser.parse_args()

    binary = build_oracle()
    upstream = None if binary is None else Upstream(binary, seconds=options.seconds)
    if upstream is None:
        print("Go is missing: upstream's allocator is left out", file=sys.stderr)
    facts = machine()
    rows = []
    for row in measured(scaled(options.nodes), options.only, upstream, options.seconds):
        print(f"{row.id} {row.title}", file=sys.stderr)
        rows.append(row)
    print(figures(rows, facts))
    if options.document and not options.only:
        renew(options.document, figures(rows, facts))
    if options.json and not options.only:
        written = {"machine": facts, "rows": [row.to_json() for row in rows]}
        options.json.write_text(json.dumps(written, indent=2) + "\n", encoding="utf-8")


def scaled(nodes: int) -> Scale:
    """Keep the proportions of the fleets for another number of nodes."""
    return Scale(small_nodes=nodes // 10, sharing_nodes=nodes // 5, large_nodes=nodes)


def measured(scale: Scale, only: str, upstream: Upstream | None, seconds: float) -> Iterator[Row]:
    """Measure one thing after the other."""
    for scenario in scenarios(scale):
        if only in {"", scenario.id}:
            yield measure(scenario, upstream=upstream, seconds=seconds)
    for question in chain(
        streams(scale), index_questions(scale), explanations(scale), selections(scale)
    ):
        if only in {"", question.id}:
            yield question.measure(seconds)


if __name__ == "__main__":
    main()
