"""How a device stands towards an ask, as far as the search's picks have no part in it.

Found out once for each pair, at the moment when upstream would look, since what is broken
about a pair is fatal then and not before: a selector that fails, an amount that cannot be
represented, a derived attribute that cannot be computed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from dra_console.allocator.cel.derived import derivation
from dra_console.allocator.cel.faults import CompileFault, EvaluationFault
from dra_console.allocator.inventory import AttributeValue, Node
from dra_console.allocator.outcomes import BrokenInput, BrokenInputError
from dra_console.allocator.rules import Feature
from dra_console.allocator.search.asks import Ask
from dra_console.allocator.search.matching import Matcher
from dra_console.allocator.world.capacity import Amounts, CapacityFault
from dra_console.allocator.world.pools import PublishedDevice
from dra_console.allocator.world.taints import unmarked, untolerated

DECLARED_FEATURE: Final = Feature.OPTIONAL_NODE_OPERATIONS.value


@dataclass(slots=True, eq=False)
class Standing:
    """A device that matches an ask, with what the ask would take of it."""

    amounts: Amounts
    is_refused: bool
    """Whether it can never be given, by a taint or by a feature gate."""


@dataclass(slots=True)
class Standings:
    """Standings of the devices of one node towards the asks of one call."""

    node: Node
    matcher: Matcher
    devices: Sequence[PublishedDevice]
    _known: dict[int, list[Standing | bool]] = field(default_factory=dict)
    """By the ask's number; `True` for what was not looked at yet, `False` for no match."""

    _derived: dict[tuple[str, PublishedDevice], AttributeValue] = field(default_factory=dict)

    def of(self, ask: Ask, place: int) -> Standing | None:
        """Return how a device stands, or `None` if it does not match.

        Raises:
            BrokenInputError: something is broken about the pair.

        """
        known = self._known.get(ask.number)
        if known is None:
            known = self._known[ask.number] = [True] * len(self.devices)
        standing = known[place]
        if standing is True:
            standing = known[place] = self._look(ask, self.devices[place]) or False
        return standing if isinstance(standing, Standing) else None

    def _look(self, ask: Ask, published: PublishedDevice) -> Standing | None:
        if not self.matcher.matches(ask.tests, published, node=self.node):
            return None
        amounts = self.matcher.amounts(published, wish=ask.wish)
        if isinstance(amounts, CapacityFault):
            message = f"checking capacity for device {published.id}: {amounts}"
            raise ask.broken(message, field="capacity")
        if amounts is None:
            return None
        return Standing(amounts, is_refused=self._is_refused(ask, published))

    def _is_refused(self, ask: Ask, published: PublishedDevice) -> bool:
        if published.is_barred:
            return True
        if published.skip_node_operations and DECLARED_FEATURE not in self.node.declared_features:
            return True
        taints, tolerations = self.matcher.taints_on(published), ask.wish.tolerations
        if tolerations and unmarked(taints, tolerations=tolerations):
            return True
        return bool(taints) and untolerated(taints, tolerations=tolerations) is not None

    def value(self, ask: Ask, attribute: str, published: PublishedDevice) -> AttributeValue | None:
        """Look up an attribute as constraints do: what the ask derives comes first.

        Raises:
            BrokenInputError: the derived attribute cannot be computed.

        """
        expression = ask.derived.get(attribute)
        if expression is None:
            return published.attribute(attribute)
        known = self._derived.get((expression, published))
        if known is None:
            known = self._derive(ask, attribute, expression, published)
            self._derived[expression, published] = known
        return known

    def _derive(
        self, ask: Ask, attribute: str, expression: str, published: PublishedDevice
    ) -> AttributeValue:
        program = derivation(expression)
        if isinstance(program, CompileFault):
            raise ask.broken(f"compile derived attribute {attribute} failed: {program}")
        value = program.value(published.facts)
        if isinstance(value, EvaluationFault):
            message = f"evaluate derived attribute {attribute} on device {published.id} failed"
            raise BrokenInputError(BrokenInput(f"{message}: {value}", device=published.id))
        return value
