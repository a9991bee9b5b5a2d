"""Everything that is found in a cluster at one moment: a pure function of what is known of it."""

from collections.abc import Iterator

from dra_console.scheduling.coexistence.claim_findings import claim_findings
from dra_console.scheduling.coexistence.double_bookings import double_bookings
from dra_console.scheduling.coexistence.facts import World, pools_of
from dra_console.scheduling.coexistence.findings import Finding
from dra_console.scheduling.coexistence.foreign import foreign_allocations
from dra_console.scheduling.coexistence.inventory_findings import inventory_findings
from dra_console.scheduling.coexistence.mismatches import mismatch_findings


def detect(world: World) -> Iterator[Finding]:
    """Find what is wrong or worth knowing, the worst first; each key once in its kind."""
    pools = pools_of(world.slices or ())
    yield from double_bookings(world, pools)
    yield from inventory_findings(world, pools)
    yield from claim_findings(world)
    yield from foreign_allocations(world)
    yield from mismatch_findings(world)
