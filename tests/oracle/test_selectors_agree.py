"""Our selectors are what Kubernetes' CEL package says they are.

Thousands of random expressions, in both dialects, on devices that have what they read, or
have it of another type, or lack it. Compared are: whether it compiles, the estimated cost,
and for every device the answer or that there is an error, and which.

`make oracle` compares many more.
"""

import os
from random import SystemRandom

from tests.oracle.expressions.agreement import Report, compare, compare_cases
from tests.oracle.expressions.crossed import crossed
from tests.oracle.go import oracle_binary

FIXED_SEED = 1
EXPRESSIONS = 600
FRESH_EXPRESSIONS = 300
STRIDE = 12
"""A run compares every twelfth of the crossed ones, `make oracle` all."""


def assert_agreement(report: Report, *, seed: int) -> None:
    shown = "\n".join(map(str, report.differences[:5]))
    assert not report.differences, f"seed {seed}, {len(report.differences)} differences:\n{shown}"


def test_both_sides_say_the_same_of_every_expression_and_all_outcomes_are_met() -> None:
    report = compare(oracle_binary(), FIXED_SEED, EXPRESSIONS)

    assert_agreement(report, seed=FIXED_SEED)
    for outcome in ("refused", "bounded", "unbounded", "matches", "no match", "errors"):
        assert report.counts[outcome] >= EXPRESSIONS // 50, report.counts


def test_both_sides_say_the_same_of_functions_and_operators_on_values_of_any_type() -> None:
    seed = SystemRandom().randrange(STRIDE)

    assert_agreement(compare_cases(oracle_binary(), crossed()[seed::STRIDE]), seed=seed)


def test_both_sides_say_the_same_of_expressions_that_nobody_has_seen() -> None:
    seed = int(os.environ.get("DRA_ORACLE_SEED") or SystemRandom().randrange(1 << 31))

    assert_agreement(compare(oracle_binary(), seed, FRESH_EXPRESSIONS), seed=seed)
