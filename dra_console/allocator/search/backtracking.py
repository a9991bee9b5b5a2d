"""The backtracking itself: a stack of choices, each with the options it has left.

A choice is which alternative of a request to serve, or which device to take next for it.
Python's own stack would limit how many devices a pod can ask for, so this one is explicit.

What cannot succeed is not tried (`pruning`): devices like one that failed at the same point,
branches that leave too little for the rest, situations that failed before. The answer stays
what a full search would give, broken input included.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from dra_console.allocator.model import DEVICES_PER_CLAIM
from dra_console.allocator.search.asks import Ask, PreparedClaim
from dra_console.allocator.search.choices import AlternativeChoice, Choice, DeviceChoice, Opening
from dra_console.allocator.search.drawing import Refusal
from dra_console.allocator.search.pruning import Pruning
from dra_console.allocator.search.standings import Standings
from dra_console.allocator.search.state import SearchState
from dra_console.allocator.world.pools import PublishedDevice

GLANCE_STEPS: Final = 3
OVERVIEW_STEPS: Final = 24
"""What looking ahead is worth, for one request and for all of them."""

SHAREABLE_AN_OVERVIEW: Final = 4
"""So many shareable devices make an overview as long again: their room has to be counted."""


class OutOfStepsError(Exception):
    """The step budget is used up."""


@dataclass(slots=True)
class Search:
    """One search; `stack` holds the choices made, the latest last."""

    claims: Sequence[PreparedClaim]
    devices: Sequence[PublishedDevice]
    every: Mapping[Ask, tuple[PublishedDevice, ...]]
    standings: Standings
    state: SearchState
    pruning: Pruning
    steps_left: int = 0
    starts_over: bool = False
    """Whether pruning was just turned on: from the start it sees most."""

    stack: list[Choice] = field(default_factory=list)

    def run(self) -> bool:
        """Tell whether all claims could be solved; the picks are in `state` then."""
        opened: Choice | Opening | None = self._open_request(claim=0, request=0)
        while opened is not None:
            if self.starts_over:
                opened = self._start_over()
            if opened is Opening.SOLVED:
                return True
            if opened is Opening.OVER_LIMIT:
                self._unwind()
            elif opened is not Opening.DEAD_END:
                self.stack.append(opened)
            opened = self._advance()
        return False

    def _start_over(self) -> Choice | Opening:
        self.starts_over = False
        self.stack.clear()
        while self.state.taken:
            self.state.give_back()
        return self._open_request(claim=0, request=0)

    def _open_request(self, *, claim: int, request: int) -> Choice | Opening:
        while claim < len(self.claims):
            if request < len(self.claims[claim].requests):
                return self._open_alternatives(claim, request)
            claim, request = claim + 1, 0
        return Opening.SOLVED

    def _open_alternatives(self, claim: int, request: int) -> Choice | Opening:
        if not self.pruning.is_on:
            return AlternativeChoice(claim, request)
        is_judged = self.pruning.shortfall.is_judged(claim, request)
        turns = 1 + self.pruning.looks.shareable.bit_count() // SHAREABLE_AN_OVERVIEW
        self._step(OVERVIEW_STEPS * turns if is_judged else GLANCE_STEPS)
        situation = self.pruning.situation(claim, request)
        if self.pruning.is_dead_end(situation):
            return Opening.DEAD_END
        return AlternativeChoice(claim, request, situation=situation)

    def _open_device(
        self, ask: Ask, *, claim: int, request: int, number: int, start: int
    ) -> Choice | Opening:
        every = self.every.get(ask)
        if every is not None and not every:
            return Opening.DEAD_END
        count = ask.wish.count if every is None else len(every)
        if number == count:
            return self._open_request(claim=claim, request=request + 1)
        if self.state.sizes[claim] + count - number > DEVICES_PER_CLAIM:
            return Opening.OVER_LIMIT
        return DeviceChoice(claim, request, ask, number, start if every is None else 0)

    def _advance(self) -> Choice | Opening | None:
        """Try the next option of the latest choice that has one left."""
        while self.stack:
            choice = self.stack[-1]
            if isinstance(choice, DeviceChoice):
                if self._choose(choice):
                    return self._open_device(
                        choice.ask,
                        claim=choice.claim,
                        request=choice.request,
                        number=choice.number + 1,
                        start=choice.next,
                    )
            else:
                asks = self.claims[choice.claim].requests[choice.request].asks
                if choice.next < len(asks):
                    choice.next += 1
                    return self._open_device(
                        asks[choice.next - 1],
                        claim=choice.claim,
                        request=choice.request,
                        number=0,
                        start=0,
                    )
                if choice.situation is not None and not choice.over_limit:
                    self.pruning.remember(choice.situation)
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
            if isinstance(choice, AlternativeChoice):
                choice.over_limit += 1
                asks = self.claims[choice.claim].requests[choice.request].asks
                if choice.over_limit < len(asks):
                    return
            elif choice.place >= 0:
                self.state.give_back()
            self.stack.pop()

    def _choose(self, choice: DeviceChoice) -> bool:
        """Undo the device that was taken, if any, and take the next one that can be."""
        every = self.every.get(choice.ask)
        if every is not None:
            return self._choose_predetermined(choice, every)
        if choice.place >= 0:
            self.state.give_back()
            self._fail(choice, choice.place)
            choice.place = -1
        if self.pruning.is_on and self._is_hopeless(choice):
            return False
        state, standings, devices = self.state, self.standings, self.devices
        for place in range(choice.next, len(devices)):
            published = devices[place]
            self._step(1)
            if state.is_in_use(choice.ask, published, claim=choice.claim):
                continue
            if choice.failed and self.pruning.kind(place) in choice.failed:
                continue
            standing = standings.of(choice.ask, place)
            if standing is None:
                continue
            if (
                # First, since a constraint may need an attribute that fails to be computed.
                state.has_capacity(published, standing)
                and state.take(choice.ask, published, standing, claim=choice.claim) is None
            ):
                choice.place = place
                choice.next = place + 1
                return True
            self._fail(choice, place)
        choice.next = len(devices)
        return False

    def _fail(self, choice: DeviceChoice, place: int) -> None:
        if not self.pruning.is_on:
            self.starts_over = self.pruning.count_failure()
            return
        if choice.failed is None:
            choice.failed = set()
        choice.failed.add(self.pruning.kind(place))

    def _choose_predetermined(self, choice: DeviceChoice, every: Sequence[PublishedDevice]) -> bool:
        if choice.next < 0:
            if choice.place >= 0:
                self.state.give_back()
                choice.place = -1
            return False
        choice.next = -1
        self._step(1)
        ask, published = choice.ask, every[choice.number]
        if self.state.is_in_use(ask, published, claim=choice.claim):
            return False
        place = self.pruning.looks.places[published]
        standing = self.standings.of(ask, place)
        if standing is None:
            return False
        refusal = self.state.take(ask, published, standing, claim=choice.claim)
        if refusal is Refusal.CONSTRAINT:
            message = (
                f"cannot add device {published.id} "
                "because a claim constraint would not be satisfied"
            )
            raise ask.broken(message, device=published.id)
        if refusal is not None:
            return False
        choice.place = place
        return True

    def _is_hopeless(self, choice: DeviceChoice) -> bool:
        self._step(GLANCE_STEPS)
        needed = choice.ask.wish.count - choice.number
        return self.pruning.is_hopeless(
            choice.ask, claim=choice.claim, start=choice.next, needed=needed
        )

    def _step(self, count: int) -> None:
        if self.steps_left < count:
            raise OutOfStepsError
        self.steps_left -= count
