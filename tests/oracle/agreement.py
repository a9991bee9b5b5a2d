"""Ask both allocators for the same scenarios, and collect what they do not agree on."""

import json
import re
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from dra_console.allocator.api_json import JsonObject
from dra_console.allocator.command.scenario import answer_to
from tests.oracle.comparison import differences, is_out_of_budget
from tests.oracle.coverage import features_met
from tests.oracle.generator.scenario import scenario
from tests.oracle.go import Oracle
from tests.oracle.shrinking import shrunk

AT_ONCE: Final = 500
"""Scenarios made at a time; the oracle works on them while we do."""

KINDS_OF_ERRORS: Final = (
    "CEL compile error",
    "CEL runtime error",
    "compile derived attribute",
    "evaluate derived attribute",
    "could not retrieve device class",
    "exceeds the claim limit",
    "claim constraint would not be satisfied",
    "is currently being updated",
    "is currently invalid",
    "cannot be represented",
    "feature is disabled",
)

OWN_WORDS: Final = re.compile(r"'[^']*'|\"[^\"]*\"|\S*\d\S*")
"""What two differences of the same kind may say differently: names, values, positions."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A scenario that the two answer differently, and how."""

    scenario: JsonObject
    parts: Sequence[str]

    @property
    def kind(self) -> str:
        """Name the kind, so that one of each is looked at; a shrunk scenario keeps it."""
        field, _, values = self.parts[0].partition(":")
        return OWN_WORDS.sub("_", values)[:80] if field == "outcome" else field.split()[0]


@dataclass(slots=True)
class Report:
    """What a run of one series has shown."""

    series: str
    seed: int
    outcomes: Counter[str] = field(default_factory=Counter)
    """Upstream's outcomes."""

    out_of_budget: Counter[str] = field(default_factory=Counter)
    """Who ran out of budget: nobody, both, or one where the other has an answer."""

    errors: Counter[str] = field(default_factory=Counter)
    """Upstream's errors by kind."""

    features: Counter[str] = field(default_factory=Counter)
    differences: list[Difference] = field(default_factory=list)

    @property
    def scenarios(self) -> int:
        """Tell how many were asked."""
        return self.outcomes.total()


def compare(oracle: Oracle, series: str, seed: int, count: int) -> Report:
    """Compare the first scenarios that a seed has in a series."""
    report = Report(series, seed)
    for made, ours, upstreams in _answered(oracle, series, seed, count):
        report.outcomes[str(upstreams["outcome"])] += 1
        report.features.update(features_met(made, upstreams))
        report.out_of_budget[_out_of_budget(ours, upstreams)] += 1
        if upstreams["outcome"] == "error":
            report.errors[_kind_of_error(str(upstreams["error"]))] += 1
        if parts := differences(ours, upstreams):
            report.differences.append(Difference(made, parts))
    return report


def difference_in(oracle: Oracle, made: JsonObject) -> Difference | None:
    """Compare the answers to one scenario."""
    line = json.dumps(made)
    parts = differences(_our_answer(line), oracle.ask(line))
    return Difference(made, parts) if parts else None


def shrink(oracle: Oracle, difference: Difference) -> Difference:
    """Find a small scenario that shows the same kind of difference."""

    def is_alike(made: JsonObject) -> bool:
        found = difference_in(oracle, made)
        return found is not None and found.kind == difference.kind

    return difference_in(oracle, shrunk(difference.scenario, is_alike)) or difference


def _out_of_budget(ours: JsonObject, upstreams: JsonObject) -> str:
    match is_out_of_budget(ours), is_out_of_budget(upstreams):
        case True, True:
            return "both"
        case True, False:
            return "ours alone"
        case False, True:
            return "upstream alone"
        case _:
            return "nobody"


def _kind_of_error(message: str) -> str:
    return next((kind for kind in KINDS_OF_ERRORS if kind in message), "others")


def _answered(
    oracle: Oracle, series: str, seed: int, count: int
) -> Iterator[tuple[JsonObject, JsonObject, JsonObject]]:
    for start in range(0, count, AT_ONCE):
        numbers = range(start, min(start + AT_ONCE, count))
        made = [scenario(series, seed, number) for number in numbers]
        lines = [json.dumps(each) for each in made]
        for each, line, upstreams in zip(made, lines, oracle.answers(lines), strict=True):
            yield each, _our_answer(line), upstreams


def _our_answer(line: str) -> JsonObject:
    """Answer a scenario; a crash is an answer, too, since one must not end the run."""
    try:
        return answer_to(line)
    except Exception:  # noqa: BLE001  whatever it is, the scenario that shows it is reported
        return {"id": None, "outcome": "crash", "error": traceback.format_exc()}
