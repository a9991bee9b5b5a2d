"""`explain`: why claims fit or do not, as text or as JSON."""

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TextIO

from dra_console.allocator.api_json import Json, JsonObject
from dra_console.allocator.command.blame import blamed
from dra_console.allocator.command.holdings import Holdings
from dra_console.allocator.command.inquiries import Inquiry, folded
from dra_console.allocator.command.report import headline, printable, report, wrapped
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
WHOLE_UP_TO: Final = 20
"""Answers that are written whole, unless they were asked for by name."""

BRIEF: Final = "So many are shown as headlines only; --claim NAMESPACE/NAME shows all of one."
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


def explain_as_text(task: Task, output: TextIO, errors: TextIO) -> ExitStatus:
    """Explain everything that was asked about for people, and return the worst status.

    Each pod is looked at alone, as if it were the next to get devices.
    """
    inquiries = _inquiries(task)
    is_brief = not task.is_named and len(inquiries) > WHOLE_UP_TO
    holdings = Holdings.of(task.snapshot.slices)
    width = _width()
    statuses: list[ExitStatus] = []
    for each in _explained(task, inquiries):
        lines = (
            headline(each.inquiry, each.explanation, width=width)
            if is_brief
            else report(each.inquiry, each.explanation, holdings, width=width)
        )
        _write(output, [*lines, ""])
        _complain(task, each, errors)
        statuses.append(each.status)
    for text in (*([BRIEF] if is_brief else []), *_summary(task, statuses)):
        _write(output, wrapped(text, width))
    return worst(statuses)


def explain_as_json(task: Task, output: TextIO, errors: TextIO) -> ExitStatus:
    """Explain the same for programs."""
    answers: list[Json] = []
    statuses: list[ExitStatus] = []
    for each in _explained(task, _inquiries(task)):
        answers.append(each.to_json())
        statuses.append(each.status)
        _complain(task, each, errors)
    status = worst(statuses)
    whole: JsonObject = {
        "status": int(status),
        "explanations": answers,
        "remarks": [*task.remarks],
        "ignored": dict(task.dump.ignored),
    }
    json.dump(whole, output, indent=2)
    output.write("\n")
    return status


def _inquiries(task: Task) -> Sequence[Inquiry]:
    return task.inquiries if task.is_named else folded(task.inquiries)


def _write(output: TextIO, lines: Iterable[str]) -> None:
    output.write("".join(f"{line}\n" for line in lines))
    output.flush()


def _explained(task: Task, inquiries: Iterable[Inquiry]) -> Iterator[Explained]:
    node_names = [node.name for node in task.nodes]
    for inquiry in inquiries:
        explanation = None
        if inquiry.claims and not inquiry.refused:
            explanation = explain(
                task.snapshot,
                inquiry.claims,
                node_names=node_names,
                left_out=inquiry.left_out,
                rules=task.rules,
            )
        yield Explained(inquiry, explanation)


def _complain(task: Task, explained: Explained, errors: TextIO) -> None:
    """Say where in the dump the input is broken, if it is."""
    for line in (*explained.inquiry.refused, *_faults(task, explained)):
        print(printable(f"dra-explain: {line}"), file=errors)


def _faults(task: Task, explained: Explained) -> Iterator[str]:
    explanation = explained.explanation
    if explanation is None or explanation.outcome is not ExplainedOutcome.BROKEN:
        return
    index = index_of(task.snapshot, rules=task.rules)
    pending = [claim for claim in explained.inquiry.claims if claim.allocation is None]
    outcome = first_fit(index, pending, nodes=task.nodes).outcome
    if isinstance(outcome, BrokenInput):
        yield blamed(task.dump, outcome, inquiry=explained.inquiry)
    else:
        yield f"{explained.inquiry.title}: {explanation.headline}"


def _summary(task: Task, statuses: Sequence[ExitStatus]) -> Iterator[str]:
    if not statuses:
        claims = len(task.snapshot.claims)
        yield (
            f"Nothing waits: all claims of the dump have their devices ({claims})."
            if claims
            else "The dump holds no ResourceClaim and no pod that waits for one."
        )
    elif len(statuses) > 1:
        counts = Counter(statuses)
        parts = ", ".join(
            f"{count} {STATUS_WORDS[status][count != 1]}" for status, count in counts.items()
        )
        yield (
            f"Asked about {len(statuses)}: {parts}. Each was looked at alone, as if it came next."
        )
    yield from task.remarks
    if task.dump.ignored:
        kinds = ", ".join(f"{kind} {count}" for kind, count in task.dump.ignored.most_common())
        yield f"Ignored, of other kinds: {kinds}."


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
