"""What a search has picked so far, and whether one more pick is possible.

Every check that depends on picks lives here: in use, compatibility groups, counters,
constraints, capacity. `take` and `give_back` come in strict last-in-first-out order and
restore everything exactly.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from dra_console.allocator.inventory import AttributeValue
from dra_console.allocator.quantity import Quantity
from dra_console.allocator.rules import Rules
from dra_console.allocator.search.asks import Ask, PreparedClaim
from dra_console.allocator.search.constraints import ConstraintState, add_to, states_of
from dra_console.allocator.search.drawing import Drawing, Drawn, Refusal
from dra_console.allocator.search.matching import NOTHING_ASKED
from dra_console.allocator.search.results import Pick
from dra_console.allocator.search.standings import Standing, Standings
from dra_console.allocator.world.capacity import Amounts, is_left
from dra_console.allocator.world.pools import NodePool, PublishedDevice
from dra_console.allocator.world.usage import Usage


@dataclass(slots=True)
class Taken:
    """One pick with what has to be undone for it."""

    claim: int
    pick: Pick
    covering: Sequence[ConstraintState]
    drawn: Drawn | None = None


@dataclass(slots=True)
class SearchState:
    """Picks of one call, for one node."""

    usage: Usage
    rules: Rules
    standings: Standings
    drawing: Drawing
    covering: Mapping[Ask, Sequence[ConstraintState]]
    """The constraints that cover each ask."""

    states: Sequence[Sequence[ConstraintState]]
    """The constraints of each claim."""

    sizes: list[int]
    """How many devices each claim has so far."""

    taken: list[Taken] = field(default_factory=list)
    picked: dict[PublishedDevice, list[int]] = field(default_factory=dict)
    """Claims that picked the device in this call, in order."""

    new_share_id: Callable[[], str] = lambda: ""
    _booked_now: dict[PublishedDevice, dict[str, Quantity]] = field(default_factory=dict)

    def picks_of(self, claim: int) -> list[Pick]:
        """List what was picked for a claim, in order."""
        return [each.pick for each in self.taken if each.claim == claim]

    def owners_of(self, published: PublishedDevice) -> tuple[tuple[int, bool], ...]:
        """List the claims that picked a device in this call, and whether with admin access."""
        return tuple(
            sorted(
                (each.claim, each.pick.ask.wish.admin_access)
                for each in self.taken
                if each.pick.published is published
            )
        )

    def booked_now(self, published: PublishedDevice) -> tuple[tuple[str, int], ...]:
        """List what this call has booked of a device, in nanos."""
        booked = self._booked_now.get(published)
        return tuple((name, each.nanos) for name, each in booked.items()) if booked else ()

    def capacity_left(self, published: PublishedDevice) -> dict[str, int]:
        """List what nobody has booked of a device, in nanos."""
        booked = self.usage.booked.get(published.id, NOTHING_ASKED)
        now = self._booked_now.get(published, {})
        return {
            name: capacity.value.nanos
            - (booked[name].nanos if name in booked else 0)
            - (now[name].nanos if name in now else 0)
            for name, capacity in published.device.capacity.items()
        }

    def is_in_use(self, ask: Ask, published: PublishedDevice, *, claim: int) -> bool:
        """Tell whether the device is out of reach before anything else is looked at.

        Admin access ignores what other claims hold, but a claim never gets a device twice.
        A normal request is blocked by every pick of this call.
        """
        if ask.wish.admin_access:
            return not published.is_shareable and claim in self.picked.get(published, ())
        if published.id in self.usage.holders:
            return True
        if published.is_shareable or not self.picked.get(published):
            return False
        return self.rules.quirks.admin_access_blocks or self._blocks(published, claim=claim)

    def _blocks(self, published: PublishedDevice, *, claim: int) -> bool:
        """Tell whether a pick of the device stands against another one, as is documented."""
        return any(
            each.claim == claim or not each.pick.ask.wish.admin_access
            for each in self.taken
            if each.pick.published is published
        )

    def take(
        self, ask: Ask, published: PublishedDevice, standing: Standing, *, claim: int
    ) -> Refusal | None:
        """Pick a device that matches and is not in use, or say what stands against it.

        Capacity comes last: a constraint against a device that a request must have is
        broken input, whatever is left of the device.
        """
        if standing.is_refused:
            return Refusal.NEVER
        pick = Pick(ask, published, standing.amounts)
        taken = Taken(claim, pick, self.covering[ask])
        if published.draws and self._charges(ask, published):
            drawn = self.drawing.draw(published)
            if isinstance(drawn, Refusal):
                return drawn
            taken.drawn = drawn
        if taken.covering and self._is_against(ask, published, taken.covering):
            self.drawing.undo(taken.drawn)
            return Refusal.CONSTRAINT
        if not self.has_capacity(published, standing):
            self._undo_checks(taken)
            return Refusal.CAPACITY
        self.taken.append(taken)
        self.sizes[claim] += 1
        self.picked.setdefault(published, []).append(claim)
        if published.is_shareable:
            taken.pick.share_id = self.new_share_id()
            self._book(published, standing.amounts, sign=1)
        return None

    def give_back(self) -> None:
        """Undo the latest pick."""
        taken = self.taken.pop()
        self.sizes[taken.claim] -= 1
        published = taken.pick.published
        self.picked[published].pop()
        if published.is_shareable:
            self._book(published, taken.pick.amounts, sign=-1)
        self._undo_checks(taken)

    def has_capacity(self, published: PublishedDevice, standing: Standing) -> bool:
        """Tell whether enough is left for the pick, beside others' and this call's."""
        if not published.is_shareable and not standing.amounts:
            return True
        booked = self.usage.booked.get(published.id, NOTHING_ASKED)
        now = self._booked_now.get(published)
        return is_left(published.device, amounts=standing.amounts, booked=booked, booked_now=now)

    def _undo_checks(self, taken: Taken) -> None:
        for state in taken.covering:
            state.pop()
        self.drawing.undo(taken.drawn)

    def _is_against(
        self, ask: Ask, published: PublishedDevice, covering: Sequence[ConstraintState]
    ) -> bool:
        def value_for(state: ConstraintState) -> AttributeValue | None:
            return self.standings.value(ask, state.attribute, published)

        return add_to(covering, value_for) is not None

    def draws_for(self, ask: Ask) -> bool:
        """Tell whether picks for the ask draw on counters."""
        return not ask.wish.admin_access or self.rules.quirks.admin_access_draws_counters

    def _charges(self, ask: Ask, published: PublishedDevice) -> bool:
        """Tell whether the pick draws on counters.

        Counters of a shared device are charged once, with its first share. Otherwise every
        pick is charged, by the quirk even of a device that admin access only watches.
        """
        if not self.draws_for(ask):
            return False
        if not published.is_shareable:
            return True
        if published.id in self.usage.booked:
            return False
        return not self.picked.get(published) or not any(
            each.drawn for each in self.taken if each.pick.published is published
        )

    def _book(self, published: PublishedDevice, amounts: Amounts, *, sign: int) -> None:
        booked = self._booked_now.setdefault(published, {})
        for name, amount in amounts.items():
            known = booked.get(name, Quantity(0, amount.family))
            booked[name] = known + amount if sign > 0 else known - amount


def state_for(
    claims: Sequence[PreparedClaim],
    *,
    pools: Sequence[NodePool],
    standings: Standings,
) -> SearchState:
    """Start with nothing picked and every pool's counters at what is left now."""
    rules = standings.matcher.rules
    covering: dict[Ask, Sequence[ConstraintState]] = {}
    all_states = [states_of(each.claim.spec.constraints, rules=rules) for each in claims]
    for prepared, states in zip(claims, all_states, strict=True):
        for request in prepared.requests:
            for ask in request.asks:
                covering[ask] = states.covering(ask.label)
    return SearchState(
        usage=standings.matcher.usage,
        rules=rules,
        standings=standings,
        drawing=Drawing({pool.id: pool for pool in pools}, standings.matcher.usage, rules),
        covering=covering,
        states=[each.states for each in all_states],
        sizes=[0] * len(claims),
    )
