"""`allocate`: what would be written into the claims, as YAML or JSON.

Pods get their devices one after the other, in the order of the dump and each with what the
ones before it leave, as a scheduler would do. The first node that fits is taken; scores of
kube-scheduler, which needs more than devices to choose, are not known here.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TextIO

import yaml

from dra_console.allocator.api_json import Json, JsonObject
from dra_console.allocator.command.blame import blamed
from dra_console.allocator.command.inquiries import Inquiry
from dra_console.allocator.command.report import printable
from dra_console.allocator.command.statuses import ExitStatus, worst
from dra_console.allocator.command.task import Task
from dra_console.allocator.model import AllocationResult, Node, ResourceClaim
from dra_console.allocator.outcomes import Allocated, BrokenInput, BudgetExhausted
from dra_console.allocator.search.first_fit import first_fit
from dra_console.allocator.world.index import Index, index_of
from dra_console.allocator.world.nodes import selects


def allocate_as_yaml(task: Task, output: TextIO, errors: TextIO) -> ExitStatus:
    """Write a document for each claim that gets devices, and return the worst status."""
    statuses: list[ExitStatus] = []
    for inquiry, answer in _answers(task, errors):
        statuses.append(answer.status)
        if answer.claims:
            output.write(f"# {printable(inquiry.title)}, on node {answer.node_name}\n")
            yaml.dump_all(
                [_object(claim) for claim in answer.claims],
                output,
                _Dumper,
                sort_keys=False,
                explicit_start=True,
            )
    return worst(statuses)


def allocate_as_json(task: Task, output: TextIO, errors: TextIO) -> ExitStatus:
    """Write the same claims as one list."""
    answers = [answer for _, answer in _answers(task, errors)]
    items: list[Json] = [_object(claim) for answer in answers for claim in answer.claims]
    json.dump({"apiVersion": "v1", "kind": "List", "items": items}, output, indent=2)
    output.write("\n")
    return worst(answer.status for answer in answers)


def _answers(task: Task, errors: TextIO) -> Iterator[tuple[Inquiry, "_Answer"]]:
    allocator = _Allocator(task)
    for inquiry in task.inquiries:
        answer = allocator.answer(inquiry)
        if answer.problem:
            where = "" if answer.status is ExitStatus.BROKEN_INPUT else f"{inquiry.title}: "
            print(printable(f"dra-explain: {where}{answer.problem}"), file=errors)
        yield inquiry, answer


class _Dumper(yaml.SafeDumper):
    """Writes what is used twice twice."""

    def ignore_aliases(self, _data: object) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class _Answer:
    status: ExitStatus
    problem: str = ""
    node_name: str = ""
    claims: tuple[ResourceClaim, ...] = ()
    """Those that get devices, with their allocation."""


@dataclass(slots=True)
class _Allocator:
    task: Task
    allocated: dict[str, ResourceClaim] = field(default_factory=dict)
    """Claims that got devices here, by key."""

    def answer(self, inquiry: Inquiry) -> _Answer:
        if inquiry.refused:
            return _Answer(ExitStatus.BROKEN_INPUT, " ".join(inquiry.refused))
        if inquiry.missing:
            return _Answer(ExitStatus.DOES_NOT_FIT, " ".join(inquiry.missing))
        claims = [self.allocated.get(claim.key, claim) for claim in inquiry.claims]
        pending = [claim for claim in claims if claim.allocation is None]
        if not pending:
            return _Answer(ExitStatus.FITS, "has its devices already")
        found = first_fit(self._index(), pending, nodes=self._nodes(inquiry, claims))
        match found.outcome:
            case Allocated(results):
                node_name = found.node.name if found.node else ""
                return self._keep(pending, results, node_name)
            case BrokenInput() as broken:
                line = blamed(self.task.dump, broken, inquiry=inquiry)
                return _Answer(ExitStatus.BROKEN_INPUT, line)
            case BudgetExhausted():
                status = ExitStatus.BUDGET
            case _:
                status = ExitStatus.DOES_NOT_FIT
        return _Answer(status, f"{found.outcome} (dra-explain says why)")

    def _keep(
        self, pending: Sequence[ResourceClaim], results: Sequence[AllocationResult], node_name: str
    ) -> _Answer:
        claims = tuple(
            replace(claim, allocation=result)
            for claim, result in zip(pending, results, strict=True)
        )
        self.allocated.update({claim.key: claim for claim in claims})
        return _Answer(ExitStatus.FITS, node_name=node_name, claims=claims)

    def _index(self) -> Index:
        index = index_of(self.task.snapshot, rules=self.task.rules)
        if not self.allocated:
            return index
        return index.with_claims((*self.task.snapshot.claims, *self.allocated.values()))

    def _nodes(self, inquiry: Inquiry, claims: Sequence[ResourceClaim]) -> Sequence[Node]:
        """List the nodes that may be used and from which the allocated claims can be."""
        selectors = [
            claim.allocation.node_selector
            for claim in claims
            if claim.allocation is not None and claim.allocation.node_selector is not None
        ]
        return [
            node
            for node in self.task.nodes
            if node.name not in inquiry.left_out
            and all(selects(selector, node=node) for selector in selectors)
        ]


def _object(claim: ResourceClaim) -> JsonObject:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"namespace": claim.namespace, "name": claim.name},
        "status": {"allocation": claim.allocation.to_json() if claim.allocation else None},
    }
