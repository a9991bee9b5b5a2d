"""What stands against one device, for one want: the checks of the search, one by one.

Every check is the search's own function, asked about this device alone, so the verdict
`free` means that the search would take the device if it needed no other.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from dra_console.allocator.explanation.evidence import failed_clause, gate_is_off, shortfall
from dra_console.allocator.explanation.holdings import Holdings
from dra_console.allocator.explanation.verdicts import RANKS, Judgement, Verdict
from dra_console.allocator.model import DeviceWish
from dra_console.allocator.outcomes import BrokenInput
from dra_console.allocator.rules import Feature
from dra_console.allocator.search.constraints import add_to, states_of
from dra_console.allocator.search.matching import NOTHING_ASKED, Matcher
from dra_console.allocator.search.wants import Want
from dra_console.allocator.world.capacity import Amounts, CapacityFault, is_left
from dra_console.allocator.world.groups import joined
from dra_console.allocator.world.pools import PublishedDevice
from dra_console.allocator.world.taints import unmarked, untolerated

UNLIKE_GROUPS: Final = "its compatibility groups do not go with those of devices in use"


@dataclass(frozen=True, slots=True)
class Judge:
    """Judges devices for the wants of one pod's claims."""

    wants: Sequence[Want]
    matcher: Matcher
    holdings: Holdings

    def judge(self, published: PublishedDevice) -> Judgement:
        """Judge one device for the want that it comes closest to."""
        judgements = [self.judge_for(want, published) for want in self.wants]
        if not judgements:
            return Judgement(Verdict.FREE, "nothing is asked for")
        return max(judgements, key=lambda judgement: RANKS[judgement.verdict])

    def judge_for(self, want: Want, published: PublishedDevice) -> Judgement:
        """Judge one device for one want alone."""
        return (
            self._unselected(want, published)
            or self._unsuitable(want, published)
            or self._tainted(want, published)
            or self._taken(want, published)
            or self._unconstrained(want, published)
            or self._short(want, published)
            or Judgement(Verdict.FREE, f"free for {self.name_of(want)}", want)
        )

    def name_of(self, want: Want) -> str:
        """Name a request, with its claim if the pod has several."""
        is_alone = all(each.claim is want.claim for each in self.wants)
        return f"request {want.label}" if is_alone else f"request {want.label} of {want.claim.name}"

    def _unselected(self, want: Want, published: PublishedDevice) -> Judgement | None:
        if want.device_class is None:
            missing = f"class {want.wish.device_class_name} does not exist"
            return Judgement(Verdict.CLASS_MISMATCH, missing, want)
        if published.is_hidden:
            return Judgement(Verdict.SELECTOR_MISMATCH, gate_is_off(published), want)
        for selectors, whose, mismatch in (
            (want.class_selectors, f"class {want.device_class.name}", Verdict.CLASS_MISMATCH),
            (want.request_selectors, self.name_of(want), Verdict.SELECTOR_MISMATCH),
        ):
            for selector in selectors:
                outcome = self.matcher.outcome(selector, published)
                if outcome is True:
                    continue
                is_broken = isinstance(outcome, BrokenInput)
                return Judgement(
                    Verdict.SELECTOR_ERROR if is_broken else mismatch,
                    failed_clause(selector, published, whose=whose, engine=self.matcher.engine),
                    want,
                )
        return None

    def _unsuitable(self, want: Want, published: PublishedDevice) -> Judgement | None:
        """Say why the device could not serve the want even if nobody else had any of it."""
        amounts = self.matcher.amounts(published, wish=want.wish)
        if isinstance(amounts, CapacityFault):
            return Judgement(Verdict.SELECTOR_ERROR, str(amounts), want)
        if amounts is None or not is_left(published.device, amounts=amounts, booked=NOTHING_ASKED):
            return Judgement(
                Verdict.SELECTOR_MISMATCH,
                self.shortfall(want.wish, published, booked=NOTHING_ASKED, shares=0),
                want,
            )
        if published.is_barred:
            return Judgement(Verdict.NODE_FILTER, gate_is_off(published), want)
        return None

    def _tainted(self, want: Want, published: PublishedDevice) -> Judgement | None:
        taints = self.matcher.taints_on(published)
        if mark := unmarked(taints, tolerations=want.wish.tolerations):
            return Judgement(Verdict.NODE_FILTER, f"it is not marked with taint {mark}", want)
        taint = untolerated(taints, tolerations=want.wish.tolerations)
        if taint is None:
            return None
        return Judgement(Verdict.TAINTED, f"taint {taint} is not tolerated", want)

    def _taken(self, want: Want, published: PublishedDevice) -> Judgement | None:
        usage = self.matcher.usage
        if published.id in usage.holders and not want.wish.admin_access:
            return Judgement(Verdict.TAKEN, "in use by another claim", want)
        if self.matcher.has_capacity(published, wish=want.wish):
            return None
        words = self.shortfall(
            want.wish,
            published,
            booked=usage.booked.get(published.id, NOTHING_ASKED),
            shares=len(usage.sharers.get(published.id, ())),
        )
        return Judgement(Verdict.TAKEN, words, want)

    def shortfall(
        self, wish: DeviceWish, published: PublishedDevice, *, booked: Amounts, shares: int
    ) -> str:
        """Say which capacity is too low for a wish beside what others have, and by how much."""
        return shortfall(
            published.device,
            requested=wish.capacity or NOTHING_ASKED,
            booked=booked,
            shares=shares,
            is_fractional=self.matcher.rules.has(Feature.FRACTIONAL_CAPACITY_RANGE),
        )

    def _unconstrained(self, want: Want, published: PublishedDevice) -> Judgement | None:
        """Say which constraint refuses the device even as the only one.

        A derived attribute is left out: whether it can be computed is for the search to find.
        """
        derived = {each.name for each in want.wish.derived_attributes}
        states = states_of(want.claim.spec.constraints, rules=self.matcher.rules)
        covering = [
            state for state in states.covering(want.label) if state.attribute not in derived
        ]
        refusing = add_to(covering, lambda state: published.attribute(state.attribute))
        if refusing is None:
            return None
        has_none = published.attribute(refusing.attribute) is None
        lack = "does not have this attribute" if has_none else "has no value that can be compared"
        return Judgement(Verdict.CONSTRAINT, f"{refusing.describe()}: the device {lack}", want)

    def _short(self, want: Want, published: PublishedDevice) -> Judgement | None:
        is_drawn_already = published.is_shareable and published.id in self.matcher.usage.booked
        is_free_of_charge = want.wish.admin_access and not self._charges_admin_access
        if not published.draws or is_drawn_already or is_free_of_charge:
            return None
        if self.matcher.rules.has(Feature.COMPATIBILITY_GROUPS):
            groups = self.holdings.groups(published)
            if joined(groups, published.device.consumes_counters) is None:
                return Judgement(Verdict.COUNTERS, UNLIKE_GROUPS, want)
        shortage = self.holdings.ledger(published).shortage(published.draws)
        return Judgement(Verdict.COUNTERS, str(shortage), want) if shortage else None

    @property
    def _charges_admin_access(self) -> bool:
        return self.matcher.rules.quirks.admin_access_draws_counters
