"""Compares our selectors with upstream's CEL package."""

import json
import re
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from dra_console.allocator.api_json import JsonObject, objects_of
from dra_console.allocator.cel.checking import check
from dra_console.allocator.cel.cost import estimated_cost
from dra_console.allocator.cel.estimates import UNBOUNDED
from dra_console.allocator.cel.faults import CompileFault, EvaluationFault
from dra_console.allocator.cel.selectors import Program, SelectorEngine
from dra_console.allocator.cel.tree import CheckedTree
from dra_console.allocator.decoding.decode import decode_slice
from dra_console.allocator.facts import facts_of
from tests.builders.objects import a_slice
from tests.oracle.expressions.cases import Case, case
from tests.oracle.expressions.templates import DRIVER
from tests.oracle.go import OracleError

LOOKS_AT_SPELLING: Final = re.compile(r"\b(?:isInteger|asInteger)\(\)")
"""Upstream's answer depends on how a quantity was spelled: 1.5 and 1.5 are no integer there."""
OPEN_TYPES: Final = re.compile(r"\[\]|optional\.none\(\)")
"""The engine leaves open of which type the elements of nothing are; upstream decides for one."""
KINDS: Final = (
    "no such key",
    "no such overload",
    "division by zero",
    "modulus by zero",
    "integer overflow",
    "index out of bounds",
    "actual cost limit exceeded",
    "could not be converted to bool",
    "expected iterable type",
    "optional.none() dereference",
)
"""Errors whose text is part of the contract; the rest agrees in being an error."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Where the two sides part."""

    case: Case
    what: str
    ours: str
    theirs: str

    def __str__(self) -> str:
        return (
            f"{self.what} [{self.case.name}] {self.case.expression}\n"
            f"  ours:   {self.ours}\n  theirs: {self.theirs}"
        )


@dataclass(slots=True)
class Report:
    """What a comparison found."""

    differences: list[Difference] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)


def compare(binary: Path, seed: int, count: int) -> Report:
    """Ask both sides for the cases of a seed."""
    return compare_cases(binary, [case(seed, number) for number in range(count)])


def compare_cases(binary: Path, cases: Sequence[Case]) -> Report:
    """Ask both sides for these."""
    questions = "".join(f"{json.dumps(each.question())}\n" for each in cases)
    asked = subprocess.run(
        [binary, "cel"], input=questions, capture_output=True, text=True, check=False
    )
    if asked.returncode:
        raise OracleError(f"after {cases[asked.stdout.count(chr(10))]}: {asked.stderr[:2_000]}")
    report, engine = Report(), SelectorEngine()
    for each, line in zip(cases, asked.stdout.splitlines(), strict=True):
        report.differences += _differences(engine, each, json.loads(line), report.counts)
    return report


def _differences(
    engine: SelectorEngine, asked: Case, theirs: JsonObject, counts: Counter[str]
) -> Iterator[Difference]:
    if "panic" in theirs:
        counts["panics upstream"] += 1
        return
    ours = engine.compile(asked.expression, asked.dialect)
    is_refused_for_cost = isinstance(ours, CompileFault) and ours.is_too_complex
    refused = str(theirs.get("compileError", ""))
    if (isinstance(ours, CompileFault) and not is_refused_for_cost) != bool(refused):
        if not (refused and OPEN_TYPES.search(asked.expression)):
            yield Difference(asked, "compiles", str(ours), refused or "compiles")
        return
    if refused:
        counts["refused"] += 1
        return
    counts["compiled"] += 1
    tree = check(asked.expression, asked.dialect)
    if isinstance(tree, CheckedTree):
        yield from _cost_difference(asked, estimated_cost(tree), theirs, counts)
    if isinstance(ours, Program):
        yield from _answer_differences(ours, asked, theirs, counts)


def _cost_difference(
    asked: Case, cost: int, theirs: JsonObject, counts: Counter[str]
) -> Iterator[Difference]:
    expected = theirs["maxCost"]
    if cost != (UNBOUNDED if expected is None else expected):
        yield Difference(asked, "cost", str(cost), str(expected))
    counts["unbounded" if cost == UNBOUNDED else "bounded"] += 1


def _answer_differences(
    ours: Program, asked: Case, theirs: JsonObject, counts: Counter[str]
) -> Iterator[Difference]:
    published = decode_slice(a_slice(driver=DRIVER, devices=list(asked.devices))).devices
    for device, expected in zip(published, objects_of(theirs["results"]), strict=True):
        answer = ours.evaluate(facts_of(device, driver=DRIVER))
        error = str(expected.get("error", ""))
        wanted = f"error: {error}" if error else str(expected["matches"])
        if isinstance(answer, EvaluationFault):
            counts["errors"] += 1
            is_same = bool(error) and all(kind in answer.message for kind in KINDS if kind in error)
        else:
            counts["matches" if answer else "no match"] += 1
            is_same = not error and answer == expected["matches"]
        if not is_same and not LOOKS_AT_SPELLING.search(asked.expression):
            yield Difference(asked, f"answer for {device.name}", str(answer), wanted)
