"""What is published instead of what an API server's validation refuses (node-agent.md 4.5).

After a refusal smaller shapes are tried by dry run until one passes: without optional attributes,
then without taints and counters too, which leaves out devices that need those. If none passes,
the last accepted content stays. The full shape gets another chance with other hardware or after
5 minutes; what was refused when it was really written does not, until then.
"""

from collections.abc import Callable, Iterator
from typing import Final

from nodeagent.devices.model import Inventory
from nodeagent.publish.features import Feature, Shape
from nodeagent.publish.traits import ServerTraits

RETRY_SECONDS: Final = 300
OPTIONAL: Final = (Feature.LISTS, Feature.SHARES)


class Fallback:
    """The shape that a server accepts in place of the one that it would keep."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._is_wary = False
        self._refused: set[Shape] = set()
        self._inventory: Inventory | None = None
        self._chosen: Shape | None = None
        self._choose_at: float | None = None

    def refused(self, shape: Shape | None, *, inventory: Inventory) -> None:
        """Note that the server refused a shape when it was really written; `None`: the last one."""
        if shape is not None:
            self._refused.add(shape)
        self._is_wary = True
        self._inventory = inventory
        self._choose_at = None

    def published(self, shape: Shape | None, *, traits: ServerTraits) -> None:
        """Note that the server has taken all slices of a shape; the full one ends all caution."""
        if shape == traits.shape:
            self._is_wary = False
            self._refused.clear()

    def shape_for(
        self, inventory: Inventory, *, traits: ServerTraits, accepts: Callable[[Shape], bool]
    ) -> Shape | None:
        """Return the shape to publish in; `None`: none is accepted, leave what is there."""
        if not self._is_wary:
            return traits.shape
        is_over = self._choose_at is not None and self._monotonic() >= self._choose_at
        if is_over or inventory != self._inventory:
            self._refused.clear()
        if is_over or inventory != self._inventory or self._choose_at is None:
            self._inventory = inventory
            self._chosen = self._first_accepted(traits, accepts)
            self._choose_at = self._monotonic() + RETRY_SECONDS
        return self._chosen

    def _first_accepted(
        self, traits: ServerTraits, accepts: Callable[[Shape], bool]
    ) -> Shape | None:
        for shape in _smaller_and_smaller(traits):
            if shape not in self._refused and accepts(shape):
                if shape.layout is not traits.layout:
                    traits.switch_layout()
                return shape
        return None


def _smaller_and_smaller(traits: ServerTraits) -> Iterator[Shape]:
    full = traits.shape
    yield full
    layouts = [full.layout]
    if Feature.COUNTERS in full and traits.can_switch_layout:
        layouts.append(full.layout.other)
        yield Shape(full.features, full.layout.other)
    for layout in layouts:
        kept = Shape(full.features, layout).without(*OPTIONAL)
        yield Shape(kept.features, layout, with_optional_attributes=False)
    yield Shape(frozenset(), full.layout, with_optional_attributes=False)
