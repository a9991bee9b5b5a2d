"""`explain`: why claims fit or do not, as text or as JSON."""

import json
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TextIO

from dra_console.allocator.api_json import JsonObject
from dra_console.allocator.command.blame import blamed
from dra_console.allocator.command.holdings import Holdings
from dra_console.allocator.command.inquiries import Inquiry, folded
from dra_console.allocator.command.report import printable, report, wrapped
from dra_console.allocator.command.statuses import OF_OUTCOME, ExitStatus, worst
from dra_console.allocator.command.task import Task
from dra_console.allocator.explanation.explain import explain
from dra_console.allocator.explanation.explanation import ExplainedOutcome, Explanation
from dra_console.allocator.outcomes import BrokenInput
from dra_console.allocator.search.first_fit import first_fit
from dra_console.allocator.world.index import index_of

WIDTHS: Final = (60, 140)
"""Narrower text breaks words, and longer lines are hard to read."""

WIDTH_WITHOUT_TERMINAL: Final = 100
STATUS_WORDS: Final = {
    ExitStatus.FITS: ("fits", "fit"),
    ExitStatus.DOES_NOT_FIT: ("does not fit", "do not fit"),
    ExitStatus.BROKEN_INPUT: ("is broken", "are broken"),
    ExitStatus.BUDGET: ("has no answer", "have no answer"),
}


@dataclass(frozen=True, slots=True)
class Explained:
    """An inquiry and its answer; `explanation` is `None` without a claim, or a sound one."""

    inquiry: Inquiry
    explanation: Explanation | None

    @property
    def status(self) -> ExitStatus:
        statuses = [OF_OUTCOME[self.explanation.outcome]] if self.explanation else []
        if self.inquiry.missing:
            statuses.append(ExitStatus.DOES_NOT_FIT)
        if self.inquiry.refused:
            statuses.append(ExitStatus.BROKEN_INPUT)
        return worst(statuses)

    def to_json(self) -> JsonObject:
        inquiry = self.inquiry
        return {
            "pod": inquiry.pod.key if inquiry.pod else None,
            "claims": [claim.key for claim in inquiry.claims],
            "podsAlike": inquiry.alike,
            "missing": [*inquiry.missing],
            "refused": [*inquiry.refused],
            "notes": [*inquiry.notes],
            "explanation": self.explanation.to_json() if self.explanation else None,
        }


def explain_task(task: Task, output: TextIO, errors: TextIO, *, as_json: bool) -> ExitStatus:
    """Explain everything that was asked about, and return the worst status.

    Each pod is looked at alone, as if it were the next to get devices.
    """
    explained: list[Explained] = []
    holdings = Holdings.of(task.snapshot.slices)
    for each in _explained(task):
        explained.append(each)
        if not as_json:
            lines = report(each.inquiry, each.explanation, holdings, width=_width())
            output.write("".join(f"{line}\n" for line in (*lines, "")))
            output.flush()
        for line in _broken(task, each):
            print(printable(line), file=errors)
    status = worst(each.status for each in explained)
    if as_json:
        json.dump(_as_json(task, explained), output, indent=2)
        output.write("\n")
    else:
        lines = (line for text in _summary(task, explained) for line in wrapped(text, _width()))
        output.write("".join(f"{line}\n" for line in lines))
    return status


def _explained(task: Task) -> Iterator[Explained]:
    node_names = [node.name for node in task.nodes]
    for inquiry in task.inquiries if task.is_named else folded(task.inquiries):
        explanation = (
            explain(
                task.snapshot,
                inquiry.claims,
                node_names=node_names,
                left_out=inquiry.left_out,
                rules=task.rules,
            )
            if inquiry.claims and not inquiry.refused
            else None
        )
        yield Explained(inquiry, explanation)


def _broken(task: Task, explained: Explained) -> Iterator[str]:
    """Say where in the dump the fault is, as far as the search names a field of a claim."""
    yield from (f"dra-explain: {each}" for each in explained.inquiry.refused)
    explanation = explained.explanation
    if explanation is None or explanation.outcome is not ExplainedOutcome.BROKEN:
        return
    pending = [claim for claim in explained.inquiry.claims if claim.allocation is None]
    outcome = first_fit(
        index_of(task.snapshot, rules=task.rules), pending, nodes=task.nodes
    ).outcome
    if isinstance(outcome, BrokenInput):
        yield f"dra-explain: {blamed(task.dump, outcome, inquiry=explained.inquiry)}"
    else:
        yield f"dra-explain: {explained.inquiry.title}: {explanation.headline}"


def _summary(task: Task, explained: list[Explained]) -> Iterator[str]:
    if not explained:
        claims = len(task.snapshot.claims)
        yield (
            f"Nothing waits: all claims of the dump have their devices ({claims})."
            if claims
            else "The dump holds no ResourceClaim and no pod that waits for one."
        )
    elif len(explained) > 1:
        counts = Counter(each.status for each in explained)
        parts = ", ".join(
            f"{count} {STATUS_WORDS[status][count != 1]}" for status, count in counts.items()
        )
        yield (
            f"Asked about {len(explained)}: {parts}. Each was looked at alone, as if it came next."
        )
    yield from task.remarks
    if task.dump.ignored:
        kinds = ", ".join(f"{kind} {count}" for kind, count in task.dump.ignored.most_common())
        yield f"Ignored, of other kinds: {kinds}."


def _as_json(task: Task, explained: list[Explained]) -> JsonObject:
    return {
        "status": int(worst(each.status for each in explained)),
        "explanations": [each.to_json() for each in explained],
        "remarks": [*task.remarks],
        "ignored": dict(task.dump.ignored),
    }


def _width() -> int:
    """Measure the terminal, also where the output goes through `less`."""
    narrowest, widest = WIDTHS
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal():
        return min(max(int(columns), narrowest), widest)
    for stream in (1, 2, 0):
        try:
            return min(max(os.get_terminal_size(stream).columns, narrowest), widest)
        except OSError:
            continue
    return WIDTH_WITHOUT_TERMINAL
