"""Mode All on one node: which devices a request means, all of which it then has to get."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dra_console.allocator.inventory import Node
from dra_console.allocator.outcomes import BrokenInputError
from dra_console.allocator.search.asks import Ask, PreparedClaim
from dra_console.allocator.search.matching import NOTHING_ASKED, Matcher
from dra_console.allocator.world.capacity import CapacityFault, is_left
from dra_console.allocator.world.pools import NodePool, PoolStatus, PublishedDevice


@dataclass(frozen=True, slots=True)
class Enumeration:
    """Lists devices for asks of mode All, on one node."""

    node: Node
    pools: Sequence[NodePool]
    matcher: Matcher

    def every(self, claims: Sequence[PreparedClaim]) -> dict[Ask, tuple[PublishedDevice, ...]]:
        """List the devices of each ask of mode All, and check that claims do not get too large.

        Raises:
            BrokenInputError: a pool is not ready, a selector fails, or a claim is too large.

        """
        found: dict[Ask, tuple[PublishedDevice, ...]] = {}
        for claim in claims:
            asks = [ask for request in claim.requests for ask in request.asks if ask.takes_all]
            if not asks:
                continue
            found |= {ask: tuple(self._every(ask)) for ask in asks}
            claim.check_size(
                [
                    min(len(found[ask]) if ask in found else ask.wish.count for ask in request.asks)
                    for request in claim.requests
                ]
            )
        return found

    def _every(self, ask: Ask) -> Iterator[PublishedDevice]:
        minds_all = self.matcher.rules.quirks.all_mode_minds_every_pool
        for pool in self.pools:
            if minds_all and pool.status is not PoolStatus.READY:
                raise _not_ready(ask, pool)
            for published in pool.devices:
                if not self._is_meant(ask, published):
                    continue
                if pool.status is not PoolStatus.READY:
                    raise _not_ready(ask, pool)
                yield published

    def _is_meant(self, ask: Ask, published: PublishedDevice) -> bool:
        """Tell whether the device is among them; what is in use is not left out."""
        if not self.matcher.matches(ask.tests, published, node=self.node):
            return False
        amounts = self.matcher.amounts(published, wish=ask.wish)
        if isinstance(amounts, CapacityFault):
            message = f"checking capacity for device {published.id}: {amounts}"
            raise ask.broken(message, field="capacity")
        return amounts is not None and is_left(
            published.device, amounts=amounts, booked=NOTHING_ASKED
        )


def _not_ready(ask: Ask, pool: NodePool) -> BrokenInputError:
    is_updated = pool.status is PoolStatus.INCOMPLETE
    state = "being updated" if is_updated else "invalid"
    return ask.broken(
        f"asks for all devices, but resource pool {pool.id} is currently {state} ({pool.problem})",
        field="allocationMode",
    )
