"""Does a device match: selectors in order, then the device's own node selection.

The order has an effect: a selector that fails on a device is fatal even if the device
belongs to another node, and class selectors shield the request's from foreign devices.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Self, TypeAlias

from dra_console.allocator.cel.selectors import (
    CompileFault,
    EvaluationFault,
    Program,
    SelectorEngine,
)
from dra_console.allocator.inventory import Node, Taint
from dra_console.allocator.model import DeviceWish
from dra_console.allocator.outcomes import BrokenInput, BrokenInputError
from dra_console.allocator.rules import DEFAULT_RULES, Feature, Rules
from dra_console.allocator.world.added_taints import AddedTaints
from dra_console.allocator.world.capacity import (
    Amounts,
    CapacityFault,
    checked_consumption,
    is_left,
)
from dra_console.allocator.world.nodes import reaches
from dra_console.allocator.world.pools import PublishedDevice
from dra_console.allocator.world.usage import Usage

NOTHING_ASKED: Final[Amounts] = MappingProxyType({})


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


Test: TypeAlias = tuple[Selector, Program | CompileFault]
"""A selector, compiled; a fault counts when a device is tested."""


def tests_of(selectors: Iterable[Selector], *, engine: SelectorEngine) -> tuple[Test, ...]:
    """Compile selectors, in their order."""
    return tuple((each, engine.compile(each.expression or "")) for each in selectors)


def _outcome(
    selector: Selector, program: Program | CompileFault, published: PublishedDevice
) -> bool | BrokenInput:
    if isinstance(program, Program):
        answer = program.evaluate(published.facts)
        if not isinstance(answer, EvaluationFault):
            return answer
        where = f"{selector.owner}: selector #{selector.index} on device {published.id}"
        return BrokenInput(f"{where}: {answer}", device=published.id)
    where = f"{selector.owner}: selector #{selector.index}"
    return BrokenInput(f"{where}: CEL compile error: {program}")


@dataclass(frozen=True, slots=True)
class Matcher:
    """Evaluates selectors against the devices of one index."""

    engine: SelectorEngine
    usage: Usage
    added_taints: AddedTaints
    rules: Rules = DEFAULT_RULES

    def taints_on(self, published: PublishedDevice) -> tuple[Taint, ...]:
        """List a device's own taints, then those that rules add."""
        return self.added_taints.beside_own(published)

    def matches(self, tests: Sequence[Test], published: PublishedDevice, *, node: Node) -> bool:
        """Tell whether all selectors hold and the device can be used from the node.

        Raises:
            BrokenInputError: a selector does not compile, or fails on this device.

        """
        if published.is_hidden:
            return False
        for selector, program in tests:
            outcome = _outcome(selector, program, published)
            if isinstance(outcome, BrokenInput):
                raise BrokenInputError(outcome)
            if not outcome:
                return False
        return not published.is_reach_own or reaches(published.reach, node=node)

    def outcome(self, selector: Selector, published: PublishedDevice) -> bool | BrokenInput:
        """Evaluate one selector on one device."""
        return _outcome(selector, self.engine.compile(selector.expression or ""), published)

    def has_capacity(self, published: PublishedDevice, *, wish: DeviceWish) -> bool:
        """Tell whether what the request consumes is left beside stored allocations."""
        amounts = self.amounts(published, wish=wish)
        if amounts is None or isinstance(amounts, CapacityFault):
            return False
        booked = self.usage.booked.get(published.id, NOTHING_ASKED)
        return is_left(published.device, amounts=amounts, booked=booked)

    def amounts(
        self, published: PublishedDevice, *, wish: DeviceWish
    ) -> Amounts | CapacityFault | None:
        """Return what the request would consume of the device, `None` if it cannot serve it."""
        if Feature.CONSUMABLE_CAPACITY not in self.rules.features:
            return NOTHING_ASKED
        if wish.capacity is None and self._is_used_whole(published):
            return NOTHING_ASKED
        return checked_consumption(
            published.device,
            requested=NOTHING_ASKED if wish.capacity is None else wish.capacity,
            is_fractional=Feature.FRACTIONAL_CAPACITY_RANGE in self.rules.features,
        )

    def _is_used_whole(self, published: PublishedDevice) -> bool:
        """Tell whether there is nothing to compute: nobody has a share, and nothing is odd."""
        return (
            not published.is_shareable
            and published.id not in self.usage.booked
            and all(
                capacity.request_policy is None and capacity.value.nanos >= 0
                for capacity in published.device.capacity.values()
            )
        )
