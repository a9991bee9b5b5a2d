"""`python -m tests.oracle`: thousands of scenarios of each series, or one of them by its name.

Exit status 1 says that a difference was found; the first of each kind is shown, shrunk.
"""

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from random import SystemRandom

from tests.oracle.agreement import Difference, Report, compare, difference_in, shrink
from tests.oracle.coverage import FEATURES
from tests.oracle.generator.scenario import SERIES, scenario_named
from tests.oracle.go import Oracle, build

LARGEST_SEED = 1 << 31
SHOWN = 10
"""Differences of a series that are named; of each kind one is shown shrunk."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tests.oracle", description=__doc__)
    parser.add_argument("names", nargs="*", help="scenarios as `default-SEED-NUMBER`")
    parser.add_argument("--count", type=int, default=10_000, help="scenarios of each series")
    parser.add_argument("--seed", type=int, default=SystemRandom().randrange(LARGEST_SEED))
    parser.add_argument("--series", choices=SERIES, action="append")
    wanted = parser.parse_args(arguments)
    with Oracle(build()) as oracle:
        if wanted.names:
            return _show_named(oracle, wanted.names)
        return _run(oracle, wanted.series or [*SERIES], seed=wanted.seed, count=wanted.count)


def _show_named(oracle: Oracle, names: Sequence[str]) -> int:
    found = [difference_in(oracle, scenario_named(name)) for name in names]
    for difference in filter(None, found):
        _show(oracle, difference)
    _print(f"{sum(map(bool, found))} of {len(found)} scenarios are answered differently")
    return int(any(found))


def _run(oracle: Oracle, series: Sequence[str], *, seed: int, count: int) -> int:
    reports = []
    for name in series:
        started = time.monotonic()
        report = compare(oracle, name, seed, count)
        reports.append(report)
        _summarise(report, seconds=time.monotonic() - started)
    _tabulate(reports)
    shown = set()
    for difference in (each for report in reports for each in report.differences):
        if difference.kind not in shown:
            shown.add(difference.kind)
            _show(oracle, difference)
    return int(bool(shown))


def _summarise(report: Report, *, seconds: float) -> None:
    shares = ", ".join(
        f"{outcome} {number} ({number / report.scenarios:.1%})"
        for outcome, number in report.outcomes.most_common()
    )
    _print(f"{report.series}: {report.scenarios} scenarios of seed {report.seed}, {seconds:.0f} s")
    _print(f"  upstream: {shares}")
    _print(f"  errors: {_listed(report.errors)}")
    _print(f"  out of budget: {_listed(report.out_of_budget)}")
    _print(f"  unexplained differences: {len(report.differences)}")
    for difference in report.differences[:SHOWN]:
        _print(f"    {difference.scenario['id']}: {difference.parts[0][:160]}")


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {number}" for name, number in counts.most_common())


def _tabulate(reports: Sequence[Report]) -> None:
    width = max(map(len, FEATURES))
    _print(f"\n{'scenarios with':{width}}" + "".join(f"{each.series:>10}" for each in reports))
    for feature in FEATURES:
        counts = "".join(f"{each.features[feature]:>10}" for each in reports)
        _print(f"{feature:{width}}{counts}")


def _show(oracle: Oracle, difference: Difference) -> None:
    smallest = shrink(oracle, difference)
    _print(f"\n{difference.scenario['id']}, shrunk:\n{json.dumps(smallest.scenario)}")
    for part in smallest.parts:
        _print(f"  {part}")


def _print(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
