"""The plain method, to compare with: what upstream's allocator does, written straight in Python.

For every pod the slices are grouped by node; for every node its pools are gathered, the
attribute maps of a device are built anew, its selectors are evaluated on it one device at a
time, and the search goes depth first over devices in order. Upstream keeps three things and
so does this: compiled expressions, the answer for one device and request while one node is
searched, and what is left of a pool's counters while one pod is placed. Nothing is slowed
down on purpose, and values (quantities, attributes) are those of this project.

Expressions are evaluated by this project's CEL engine with its cache of answers left aside.
Only what the scenarios ask for is here: exact counts, selectors, matchAttribute, counters
and consumable capacity.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from benchmarks.answers import NOWHERE, Placement, device_text
from benchmarks.reference_search import Counters, Found, InUse, NodeSearch, Pick, Wanted
from dra_console.allocator.cel.selectors import Program, SelectorEngine
from dra_console.allocator.inventory import DeviceId, PoolId, ResourceSlice
from dra_console.allocator.model import DeviceWish, ResourceClaim, Snapshot

LEAST_NODES: Final = 100
LEAST_PERCENTAGE: Final = 5


@dataclass(slots=True)
class Reference:
    """Places pods of one claim each, and holds what they got."""

    snapshot: Snapshot
    engine: SelectorEngine = field(default_factory=SelectorEngine)
    held: InUse = field(init=False)

    def __post_init__(self) -> None:
        self.held = in_use(self.snapshot.claims)

    def compile(self, claims: Iterable[ResourceClaim]) -> None:
        """Compile what the claims ask for, so that placing them finds it compiled."""
        for claim in claims:
            for request in claim.spec.requests:
                self._wanted(request.exactly)

    def place(self, claim: ResourceClaim, *, deadline: float, fitting: int = 1) -> Placement:
        """Look for so many nodes that fit, and hold the devices of the first one.

        `deadline` is on the clock of `time.perf_counter`.

        Raises:
            OutOfTimeError: the deadline has passed; nothing is held.

        """
        wanted = [self._wanted(request.exactly) for request in claim.spec.requests]
        on_node: dict[str, list[ResourceSlice]] = {}
        for each in self.snapshot.slices:
            on_node.setdefault(each.reach.node_name or "", []).append(each)
        counters_left: dict[PoolId, Counters] = {}
        found: list[tuple[str, Sequence[Pick]]] = []
        for node in self.snapshot.nodes:
            search = NodeSearch(
                wanted=wanted,
                constraints=claim.spec.constraints,
                devices=gather(on_node.get(node.name, ())),
                held=self.held,
                counters_left=counters_left,
                deadline=deadline,
            )
            if search.solve(request=0, number=0, start=0):
                found.append((node.name, search.picks))
                if len(found) == fitting:
                    break
        return self._hold(*found[0]) if found else NOWHERE

    def _wanted(self, wish: DeviceWish | None) -> Wanted:
        if wish is None:
            raise TypeError("the reference method knows exact requests only")
        of_class = next(
            each.selectors for each in self.snapshot.classes if each.name == wish.device_class_name
        )
        programs = []
        for expression in (*of_class, *wish.selectors):
            program = self.engine.compile(expression or "")
            if not isinstance(program, Program):
                raise TypeError(f"{expression}: {program}")
            programs.append(program)
        return Wanted(wish, programs)

    def _hold(self, node: str, picks: Sequence[Pick]) -> Placement:
        texts = []
        for pick in picks:
            device_id, shared = pick.found.id, pick.found.device.allow_multiple_allocations
            self.held.hold(device_id, shared=shared, consumed=pick.consumed)
            consumed = pick.consumed if shared and pick.consumed else {}
            texts.append(device_text(device_id.pool, device_id.device, consumed))
        return Placement(node, tuple(texts))


def nodes_to_find(nodes: int) -> int:
    """Tell after how many fitting nodes kube-scheduler's Filter stops.

    `numFeasibleNodesToFind` in pkg/scheduler/schedule_one.go of k8s.io/kubernetes v1.37.2, with
    percentageOfNodesToScore left at its default.
    """
    if nodes < LEAST_NODES:
        return nodes
    percentage = max(50 - nodes // 125, LEAST_PERCENTAGE)
    return max(nodes * percentage // 100, LEAST_NODES)


def in_use(claims: Iterable[ResourceClaim]) -> InUse:
    """Add up what allocated claims hold."""
    held = InUse()
    for claim in claims:
        for result in claim.allocation.results if claim.allocation else ():
            is_shared = result.share_id is not None
            held.hold(result.device_id, shared=is_shared, consumed=result.consumed_capacity)
    return held


def gather(slices: Iterable[ResourceSlice]) -> list[Found]:
    """List the devices of the node's whole pools, pools by name, slices by name."""
    pools: dict[PoolId, list[ResourceSlice]] = {}
    for each in slices:
        pools.setdefault(each.pool_id, []).append(each)
    found = []
    for pool_id in sorted(pools):
        pool = sorted(pools[pool_id], key=lambda each: each.name)
        if len(pool) != pool[0].resource_slice_count:
            continue
        for each in pool:
            for device in each.devices:
                device_id = DeviceId(each.driver, each.pool, device.name)
                found.append(Found(device_id, device, pool))
    return found
