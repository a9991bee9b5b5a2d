"""One verdict for one device: the furthest a device gets for any of the wants.

The verdicts form a funnel, in the order of `Verdict`. A device that gets nowhere for one
request and far for another is judged by the other, so that every device is counted once.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from dra_console.allocator.cel import text as cel_text
from dra_console.allocator.cel.selectors import Program
from dra_console.allocator.inventory import DeviceId, PoolId
from dra_console.allocator.model import ResourceClaim
from dra_console.allocator.outcomes import BrokenInput
from dra_console.allocator.search.constraints import states_of
from dra_console.allocator.search.matching import Matcher, Selector
from dra_console.allocator.search.wants import Want
from dra_console.allocator.world.capacity import consumption
from dra_console.allocator.world.counters import CounterLedger
from dra_console.allocator.world.pools import PublishedDevice
from dra_console.allocator.world.taints import untolerated


class Verdict(StrEnum):
    """Where a device falls out, the earliest first; `free` if it does not."""

    CLASS_MISMATCH = "class-mismatch"
    SELECTOR_ERROR = "selector-error"
    SELECTOR_MISMATCH = "selector-mismatch"
    TAINTED = "tainted"
    TAKEN = "taken"
    CONSTRAINT = "constraint"
    COUNTERS = "counters"
    NODE_FILTER = "node-filter"
    FREE = "free"


RANKS: Mapping[Verdict, int] = {verdict: rank for rank, verdict in enumerate(Verdict)}


@dataclass(frozen=True, slots=True)
class DeviceVerdict:
    """What became of a device, and why in words.

    `want` is the want it was judged by. `holder` is the claim that has the device; the
    evidence does not name it, so that a page can hide it from whoever may not see it.
    """

    published: PublishedDevice
    verdict: Verdict
    evidence: str
    want: Want | None = None
    holder: ResourceClaim | None = None

    @property
    def device_id(self) -> DeviceId:
        return self.published.id


@dataclass(frozen=True, slots=True)
class Judge:
    """Judges devices for the wants of one pod's claims."""

    wants: Sequence[Want]
    matcher: Matcher
    ledgers: Mapping[PoolId, CounterLedger]
    """Counters at what is left beside stored allocations."""

    def judge(self, published: PublishedDevice, *, out_of_reach: str) -> DeviceVerdict:
        """Judge one device; `out_of_reach` says why no considered node can use it, or is empty."""
        verdicts = [
            self.judge_for(want, published, out_of_reach=out_of_reach) for want in self.wants
        ]
        if not verdicts:
            return DeviceVerdict(published, Verdict.FREE, "nothing is asked for")
        return max(verdicts, key=lambda verdict: RANKS[verdict.verdict])

    def judge_for(
        self, want: Want, published: PublishedDevice, *, out_of_reach: str
    ) -> DeviceVerdict:
        """Judge one device for one want alone."""

        def verdict(kind: Verdict, evidence: str) -> DeviceVerdict:
            return DeviceVerdict(published, kind, evidence, want)

        if want.device_class is None:
            return verdict(
                Verdict.CLASS_MISMATCH, f"class {want.wish.device_class_name} does not exist"
            )
        for selectors, mismatch in (
            (want.class_selectors, Verdict.CLASS_MISMATCH),
            (want.request_selectors, Verdict.SELECTOR_MISMATCH),
        ):
            for selector in selectors:
                outcome = self.matcher.outcome(selector, published)
                if isinstance(outcome, BrokenInput):
                    return verdict(Verdict.SELECTOR_ERROR, outcome.message)
                if not outcome:
                    return verdict(mismatch, self._failed_clause(selector, published))
        taint = untolerated(published.taints, tolerations=want.wish.tolerations)
        if taint is not None:
            return verdict(Verdict.TAINTED, f"taint {taint} is not tolerated")
        return (
            self._taken(want, published)
            or self._unconstrained(want, published)
            or self._short(want, published)
            or (
                verdict(Verdict.NODE_FILTER, out_of_reach)
                if out_of_reach
                else verdict(Verdict.FREE, f"free for request {want.label}")
            )
        )

    def _failed_clause(self, selector: Selector, published: PublishedDevice) -> str:
        expression = selector.expression or ""
        for clause in cel_text.clauses(expression):
            program = self.matcher.engine.compile(clause)
            if isinstance(program, Program) and program.evaluate(published.facts) is False:
                return f"selector #{selector.index} of {selector.owner}: {clause} is false"
        return f"selector #{selector.index} of {selector.owner}: {expression} is false"

    def _taken(self, want: Want, published: PublishedDevice) -> DeviceVerdict | None:
        usage = self.matcher.usage
        holder = usage.holders.get(published.id)
        if holder is not None and not want.wish.admin_access:
            return DeviceVerdict(published, Verdict.TAKEN, "in use by another claim", want, holder)
        if self.matcher.has_capacity(published, wish=want.wish):
            return None
        if consumption(published.device, requested=want.wish.capacity or {}) is None:
            evidence = "the device cannot serve the requested capacity"
            return DeviceVerdict(published, Verdict.SELECTOR_MISMATCH, evidence, want)
        sharers = usage.sharers.get(published.id, ())
        if not sharers:
            evidence = "the device has less capacity than requested"
            return DeviceVerdict(published, Verdict.SELECTOR_MISMATCH, evidence, want)
        evidence = f"{len(sharers)} shares leave too little capacity"
        return DeviceVerdict(published, Verdict.TAKEN, evidence, want, sharers[0])

    def _unconstrained(self, want: Want, published: PublishedDevice) -> DeviceVerdict | None:
        refused_by = states_of(want.claim.spec.constraints).add(published.facts, request=want.label)
        if refused_by is None:
            return None
        evidence = f"{refused_by.describe()}: the device does not have this attribute"
        return DeviceVerdict(published, Verdict.CONSTRAINT, evidence, want)

    def _short(self, want: Want, published: PublishedDevice) -> DeviceVerdict | None:
        if not published.draws or published.id in self.matcher.usage.booked:
            return None
        ledger = self.ledgers.get(published.id.pool_id)
        shortage = ledger.shortage(published.draws) if ledger is not None else None
        if shortage is None:
            return None
        return DeviceVerdict(published, Verdict.COUNTERS, str(shortage), want)


def count_verdicts(verdicts: Iterable[DeviceVerdict]) -> dict[Verdict, int]:
    """Count devices by verdict; every verdict is present."""
    counts = dict.fromkeys(Verdict, 0)
    for verdict in verdicts:
        counts[verdict.verdict] += 1
    return counts
