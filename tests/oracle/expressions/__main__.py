"""`python -m tests.oracle.expressions`: thousands of expressions; status 1 if a side differs."""

import argparse
import sys
import time
from collections.abc import Sequence
from random import SystemRandom

from tests.oracle.expressions.agreement import compare, compare_cases
from tests.oracle.expressions.crossed import crossed
from tests.oracle.go import build

SHOWN = 20
LARGEST_SEED = 1 << 31


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tests.oracle.expressions", description=__doc__)
    parser.add_argument("--count", type=int, default=10_000, help="expressions to compare")
    parser.add_argument("--seed", type=int, default=SystemRandom().randrange(LARGEST_SEED))
    wanted = parser.parse_args(arguments)
    started = time.monotonic()
    sys.stdout.write(f"{wanted.count} expressions of seed {wanted.seed}\n")
    sys.stdout.flush()
    report = compare(build(), wanted.seed, wanted.count)
    every = compare_cases(build(), crossed())
    report.differences += every.differences
    for difference in report.differences[:SHOWN]:
        sys.stdout.write(f"{difference}\n")
    counts = ", ".join(f"{count} {name}" for name, count in sorted(report.counts.items()))
    sys.stdout.write(
        f"{wanted.count} expressions of seed {wanted.seed} in {time.monotonic() - started:.0f} s: "
        f"{counts}; with every function on every type {len(report.differences)} differences\n"
    )
    return int(bool(report.differences))


if __name__ == "__main__":
    sys.exit(main())
