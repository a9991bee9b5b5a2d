"""Does a device match: selectors in order, then the device's own node selection.

The order has an effect: a selector that fails on a device is fatal even if the device
belongs to another node, and class selectors shield the request's from foreign devices.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from dra_console.allocator.cel.selectors import CompileFault, EvaluationFault, SelectorEngine
from dra_console.allocator.inventory import Node
from dra_console.allocator.model import DeviceWish
from dra_console.allocator.outcomes import BrokenInput, BrokenInputError
from dra_console.allocator.quantity import Quantity
from dra_console.allocator.world.capacity import consumption, is_left
from dra_console.allocator.world.nodes import reaches
from dra_console.allocator.world.pools import PublishedDevice
from dra_console.allocator.world.usage import Usage


@dataclass(frozen=True, slots=True)
class Selector:
    """A selector and whose it is: `class NAME` or `claim NAMESPACE/NAME`."""

    owner: str
    index: int
    expression: str | None

    @classmethod
    def list(cls, expressions: Sequence[str | None], *, owner: str) -> Iterator[Self]:
        """Number the selectors of one owner."""
        return (cls(owner, index, each) for index, each in enumerate(expressions))


@dataclass(frozen=True, slots=True)
class Matcher:
    """Evaluates selectors against the devices of one index."""

    engine: SelectorEngine
    usage: Usage

    def matches(
        self, selectors: Sequence[Selector], published: PublishedDevice, *, node: Node
    ) -> bool:
        """Tell whether all selectors hold and the device can be used from the node.

        Raises:
            BrokenInputError: a selector does not compile, or fails on this device.

        """
        for selector in selectors:
            outcome = self.outcome(selector, published)
            if isinstance(outcome, BrokenInput):
                raise BrokenInputError(outcome)
            if not outcome:
                return False
        return not published.is_reach_own or reaches(published.reach, node=node)

    def outcome(self, selector: Selector, published: PublishedDevice) -> bool | BrokenInput:
        """Evaluate one selector on one device."""
        where = f"{selector.owner}: selector #{selector.index}"
        program = self.engine.compile(selector.expression or "")
        if isinstance(program, CompileFault):
            return BrokenInput(f"{where}: CEL compile error: {program}")
        answer = program.evaluate(published.facts)
        if isinstance(answer, EvaluationFault):
            return BrokenInput(f"{where} on device {published.id}: {answer}", device=published.id)
        return answer

    def has_capacity(self, published: PublishedDevice, *, wish: DeviceWish) -> bool:
        """Tell whether what the request consumes is left beside stored allocations."""
        return self.amounts(published, wish=wish, booked_now={}) is not None

    def amounts(
        self,
        published: PublishedDevice,
        *,
        wish: DeviceWish,
        booked_now: Mapping[str, Quantity],
    ) -> Mapping[str, Quantity] | None:
        """Return what the request would consume of the device, `None` if it is not left."""
        device = published.device
        amounts = consumption(device, requested=wish.capacity or {})
        if amounts is None:
            return None
        booked = dict(self.usage.booked.get(published.id, {}))
        for name, amount in booked_now.items():
            booked[name] = booked[name] + amount if name in booked else amount
        return amounts if is_left(device, amounts=amounts, booked=booked) else None
