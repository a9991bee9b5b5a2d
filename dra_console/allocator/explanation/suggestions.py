"""Single changes that would make the claims fit, each one really tried.

Tried are: fewer devices, one constraint less, one clause of a selector less, one taint
tolerated, and the end of one claim that holds devices. A change is told only if the search
then finds devices; the detail names the node.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from dra_console.allocator.cel import text as cel_text
from dra_console.allocator.explanation.explanation import Suggestion
from dra_console.allocator.explanation.findings import without_constraint
from dra_console.allocator.explanation.verdicts import DeviceVerdict, Verdict
from dra_console.allocator.inventory import Node, Taint
from dra_console.allocator.model import (
    EXACT_COUNT,
    DeviceWish,
    ResourceClaim,
    Toleration,
)
from dra_console.allocator.outcomes import Allocated
from dra_console.allocator.search.search import search_node
from dra_console.allocator.world.index import Index

TRIAL_STEPS: Final = 5_000
NODE_LIMIT: Final = 64
"""Nodes tried for each change, those that came closest first."""

HOLDER_LIMIT: Final = 16
"""Claims whose end is tried, in the order of the devices that they hold."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A changed world: other claims to allocate, or one holder less."""

    text: str
    claims: Sequence[ResourceClaim]
    ended: ResourceClaim | None = None


@dataclass(frozen=True, slots=True)
class Adviser:
    """Tries changes; `nodes` stand in the order in which they came close."""

    index: Index
    holders: Sequence[ResourceClaim]
    """All claims of the snapshot, of which one at a time is taken to have ended."""

    claims: Sequence[ResourceClaim]
    nodes: Sequence[Node]

    def advise(self, verdicts: Sequence[DeviceVerdict]) -> Iterator[Suggestion]:
        """Yield every change that makes the claims fit; `verdicts` are those of all devices."""
        for number, claim in enumerate(self.claims):
            yield from self._fewer(number, claim)
            for text, changed in (*_fewer_constraints(claim), *_fewer_clauses(claim)):
                yield from self._tried(Trial(text, self._with(number, changed)))
        for taint in _taints(verdicts):
            tolerant = [_tolerating(claim, taint) for claim in self.claims]
            yield from self._tried(Trial(f"Tolerate taint {taint}", tolerant))
        for holder in _holders(verdicts)[:HOLDER_LIMIT]:
            held = len(holder.allocation.results) if holder.allocation else 0
            text = f"Wait for the claim that holds {held} {'device' if held == 1 else 'devices'}"
            yield from self._tried(Trial(text, self.claims, ended=holder))

    def _fewer(self, number: int, claim: ResourceClaim) -> Iterator[Suggestion]:
        for index, request in enumerate(claim.spec.requests):
            wish = request.exactly
            if wish is None or wish.allocation_mode != EXACT_COUNT:
                continue
            for count in range(wish.count - 1, 0, -1):
                changed = _with_wish(claim, index, replace(wish, count=count))
                text = f"Ask for {count} instead of {wish.count} devices in request {request.name}"
                found = list(self._tried(Trial(text, self._with(number, changed))))
                if found:
                    yield from found
                    break

    def _with(self, number: int, changed: ResourceClaim) -> Sequence[ResourceClaim]:
        return [changed if index == number else each for index, each in enumerate(self.claims)]

    def _tried(self, trial: Trial) -> Iterator[Suggestion]:
        index = self.index
        if trial.ended is not None:
            index = index.with_claims(each for each in self.holders if each is not trial.ended)
        for node in self.nodes[:NODE_LIMIT]:
            outcome = search_node(index, trial.claims, node=node, step_budget=TRIAL_STEPS)
            if isinstance(outcome, Allocated):
                yield Suggestion(trial.text, f"fits on {node.name}", trial.ended)
                return


def _fewer_constraints(claim: ResourceClaim) -> Iterator[tuple[str, ResourceClaim]]:
    for number, constraint in enumerate(claim.spec.constraints):
        kind = "same" if constraint.match_attribute else "different"
        attribute = constraint.match_attribute or constraint.distinct_attribute
        yield f"Drop the constraint: {kind} {attribute}", without_constraint(claim, number)


def _fewer_clauses(claim: ResourceClaim) -> Iterator[tuple[str, ResourceClaim]]:
    for index, request in enumerate(claim.spec.requests):
        wish = request.exactly
        if wish is None:
            continue
        for position, expression in enumerate(wish.selectors):
            clauses = cel_text.clauses(expression or "")
            for number, clause in enumerate(clauses):
                rest = " && ".join(f"({each})" for each in clauses[:number] + clauses[number + 1 :])
                selectors = list(wish.selectors)
                selectors[position : position + 1] = [rest] if rest else []
                changed = replace(wish, selectors=tuple(selectors))
                yield f"Drop the condition {clause}", _with_wish(claim, index, changed)


def _with_wish(claim: ResourceClaim, index: int, wish: DeviceWish) -> ResourceClaim:
    requests = list(claim.spec.requests)
    requests[index] = replace(requests[index], exactly=wish)
    return replace(claim, spec=replace(claim.spec, requests=tuple(requests)))


def _tolerating(claim: ResourceClaim, taint: Taint) -> ResourceClaim:
    toleration = Toleration(
        key=taint.key,
        operator="Equal",
        value=taint.value,
        effect=taint.effect,
    )

    def tolerant(wish: DeviceWish) -> DeviceWish:
        return replace(wish, tolerations=(*wish.tolerations, toleration))

    requests = tuple(
        replace(
            request,
            exactly=tolerant(request.exactly) if request.exactly else None,
            first_available=tuple(
                replace(each, wish=tolerant(each.wish)) for each in request.first_available
            ),
        )
        for request in claim.spec.requests
    )
    return replace(claim, spec=replace(claim.spec, requests=requests))


def _taints(verdicts: Sequence[DeviceVerdict]) -> list[Taint]:
    """List the different taints that keep devices away, as they are met."""
    taints: dict[tuple[str, str, str], Taint] = {}
    for verdict in verdicts:
        if verdict.verdict is Verdict.TAINTED:
            for taint in verdict.published.taints:
                taints.setdefault((taint.key, taint.value, taint.effect), taint)
    return list(taints.values())


def _holders(verdicts: Sequence[DeviceVerdict]) -> list[ResourceClaim]:
    holders = {
        verdict.holder.key: verdict.holder
        for verdict in verdicts
        if verdict.verdict is Verdict.TAKEN and verdict.holder is not None
    }
    return list(holders.values())
