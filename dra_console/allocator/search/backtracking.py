"""The backtracking itself: a stack of choices, each with the options it has left.

A choice is which alternative of a request to serve, or which device to take next for it.
Python's own stack would limit how many devices a pod can ask for, so this one is explicit.

Equal devices are tried once. When a device failed at some point of the search, another
one that differs in nothing that this call can see (what selectors read, constrained
attributes, taints, counter draws, state of use) fails there too and is skipped. The answer
stays what a full search would give, since of equal devices the first is taken; and claims
like "8 that match of 64" end in milliseconds. Shared devices are never skipped: their
bookings make them unequal.

A branch is left at once if the devices that remain cannot be enough, by their number or
because of the counters that they draw on (`bounds`).
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from dra_console.allocator.inventory import Node
from dra_console.allocator.model import DEVICES_PER_CLAIM, AllocationResult
from dra_console.allocator.outcomes import BrokenInput, BrokenInputError
from dra_console.allocator.search.asks import Ask, PreparedClaim
from dra_console.allocator.search.bounds import most_together
from dra_console.allocator.search.likeness import Likeness
from dra_console.allocator.search.matching import Matcher
from dra_console.allocator.search.results import result_of
from dra_console.allocator.search.state import Refusal, SearchState
from dra_console.allocator.world.pools import PublishedDevice


class OutOfStepsError(Exception):
    """The step budget is used up."""


@dataclass(slots=True)
class _DeviceChoice:
    """The choice of device `number` of an ask; `next` is the first one not yet tried."""

    claim: int
    request: int
    ask: Ask
    number: int
    next: int
    is_taken: bool = False
    failed: set[Hashable] = field(default_factory=set)


@dataclass(slots=True)
class _AlternativeChoice:
    """The choice among a request's alternatives; `next` is the first one not yet tried."""

    claim: int
    request: int
    next: int = 0
    over_limit: int = 0
    """Alternatives that would have exceeded the claim's limit of devices."""


class _Open(Enum):
    SOLVED = "solved"
    DEAD_END = "dead end"
    OVER_LIMIT = "over limit"


_Choice: TypeAlias = _DeviceChoice | _AlternativeChoice


@dataclass(slots=True)
class Search:
    """One search; `stack` holds the choices made, the latest last."""

    claims: Sequence[PreparedClaim]
    devices: Sequence[PublishedDevice]
    node: Node
    matcher: Matcher
    state: SearchState
    likeness: Likeness
    steps_left: int
    stack: list[_Choice] = field(default_factory=list)
    matches: dict[tuple[Ask, PublishedDevice], bool] = field(default_factory=dict)

    def run(self) -> bool:
        """Tell whether all claims could be solved; the picks are in `state` then."""
        opened: _Choice | _Open | None = self._open_request(claim=0, request=0)
        while opened is not None:
            match opened:
                case _Open.SOLVED:
                    return True
                case _Open.OVER_LIMIT:
                    self._unwind()
                case _DeviceChoice() | _AlternativeChoice():
                    self.stack.append(opened)
            opened = self._advance()
        return False

    def results(self) -> tuple[AllocationResult, ...]:
        """Build one result for each claim from the choices on the stack."""
        chosen: list[list[Ask]] = [[] for _ in self.claims]
        for choice in self.stack:
            if isinstance(choice, _AlternativeChoice):
                asks = self.claims[choice.claim].requests[choice.request].asks
                chosen[choice.claim].append(asks[choice.next - 1])
        return tuple(
            result_of(
                prepared,
                chosen=chosen[index],
                picks=[pick for claim, pick in self.state.picks if claim == index],
                node=self.node,
            )
            for index, prepared in enumerate(self.claims)
        )

    def _open_request(self, *, claim: int, request: int) -> _Choice | _Open:
        while claim < len(self.claims):
            if request < len(self.claims[claim].requests):
                return _AlternativeChoice(claim, request)
            claim, request = claim + 1, 0
        return _Open.SOLVED

    def _open_device(
        self, ask: Ask, *, claim: int, request: int, number: int, start: int
    ) -> _Choice | _Open:
        if ask.every is not None and not ask.every:
            return _Open.DEAD_END
        if number == ask.count:
            return self._open_request(claim=claim, request=request + 1)
        picked = sum(1 for owner, _ in self.state.picks if owner == claim)
        if picked + ask.count - number > DEVICES_PER_CLAIM:
            return _Open.OVER_LIMIT
        if ask.every is not None:
            return _DeviceChoice(claim, request, ask, number, next=0)
        choice = _DeviceChoice(claim, request, ask, number, next=start)
        return _Open.DEAD_END if self._is_hopeless(choice) else choice

    def _advance(self) -> _Choice | _Open | None:
        """Try the next option of the latest choice that has one left."""
        while self.stack:
            choice = self.stack[-1]
            if isinstance(choice, _DeviceChoice):
                if self._choose(choice):
                    return self._open_device(
                        choice.ask,
                        claim=choice.claim,
                        request=choice.request,
                        number=choice.number + 1,
                        start=choice.next,
                    )
            elif choice.next < len(self.claims[choice.claim].requests[choice.request].asks):
                ask = self.claims[choice.claim].requests[choice.request].asks[choice.next]
                choice.next += 1
                return self._open_device(
                    ask, claim=choice.claim, request=choice.request, number=0, start=0
                )
            self.stack.pop()
        return None

    def _unwind(self) -> None:
        """Leave a branch that would exceed the claim's limit of devices.

        Other devices would not help, other alternatives may: choices of devices are undone
        up to a prioritized list that can switch. If all its alternatives ended like this,
        the list is no help either. Towards the claim before it is an ordinary dead end.
        """
        claim = self.stack[-1].claim
        while self.stack and self.stack[-1].claim == claim:
            choice = self.stack[-1]
            if isinstance(choice, _AlternativeChoice):
                choice.over_limit += 1
                asks = self.claims[choice.claim].requests[choice.request].asks
                if choice.over_limit < len(asks):
                    return
            elif choice.is_taken:
                self.state.give_back()
            self.stack.pop()

    def _choose(self, choice: _DeviceChoice) -> bool:
        """Undo the device that was taken, if any, and take the next one that can be."""
        if choice.is_taken:
            choice.is_taken = False
            choice.failed.add(self._kind(self.state.give_back()))
        if choice.ask.every is not None:
            return self._choose_predetermined(choice, choice.ask.every)
        for index in range(choice.next, len(self.devices)):
            published = self.devices[index]
            self._step()
            if self.state.is_in_use(choice.ask, published, claim=choice.claim):
                continue
            kind = self._kind(published)
            if kind in choice.failed or not self._is_match(choice.ask, published):
                continue
            if self.state.take(choice.ask, published, claim=choice.claim) is None:
                choice.is_taken = True
                choice.next = index + 1
                return True
            choice.failed.add(kind)
        choice.next = len(self.devices)
        return False

    def _choose_predetermined(
        self, choice: _DeviceChoice, every: Sequence[PublishedDevice]
    ) -> bool:
        if choice.next > 0:
            return False
        self._step()
        published = every[choice.number]
        refusal = self.state.take(choice.ask, published, claim=choice.claim)
        if refusal is Refusal.CONSTRAINT:
            raise BrokenInputError(
                BrokenInput(
                    f"claim {choice.ask.claim.key}, request {choice.ask.label}: cannot add device "
                    f"{published.id} because a claim constraint would not be satisfied",
                    device=published.id,
                )
            )
        choice.is_taken = refusal is None
        choice.next = 1
        return choice.is_taken

    def _is_hopeless(self, choice: _DeviceChoice) -> bool:
        """Tell whether the devices that are left cannot be enough.

        Only said when every one of them was evaluated before: a device on which a selector
        fails has to be reached, since that is fatal.
        """
        left = []
        for published in self.devices[choice.next :]:
            if self.state.is_in_use(choice.ask, published, claim=choice.claim):
                continue
            is_match = self.matches.get((choice.ask, published))
            if is_match is None:
                return False
            if is_match:
                left.append(published)
        needed = choice.ask.count - choice.number
        if len(left) < needed:
            return True
        if needed == 1 or any(each.device.allow_multiple_allocations for each in left):
            return False
        return most_together(left, ledgers=self.state.ledgers) < needed

    def _is_match(self, ask: Ask, published: PublishedDevice) -> bool:
        known = self.matches.get((ask, published))
        if known is None:
            known = self.matcher.matches(ask.selectors, published, node=self.node)
            self.matches[ask, published] = known
        return known

    def _kind(self, published: PublishedDevice) -> Hashable:
        usage = self.state.usage
        return (
            self.likeness.kind(published),
            published.id in usage.holders,
            published.id if published.id in usage.booked else None,
            self.state.is_picked(published.id),
        )

    def _step(self) -> None:
        if self.steps_left == 0:
            raise OutOfStepsError
        self.steps_left -= 1
