"""What was found out on one node, told so that it holds for every node that is alike.

A solution names devices by position. On another node with the same devices in the same
order, used alike, the same positions are what a search there would pick first.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import uuid4

from dra_console.allocator.inventory import NodeSelector
from dra_console.allocator.model import AllocatedConfig, AllocationResult, DeviceResult
from dra_console.allocator.outcomes import Allocated, BudgetExhausted, DoesNotFit
from dra_console.allocator.search.records import Record
from dra_console.allocator.search.results import node_selector_of
from dra_console.allocator.world.pools import PublishedDevice


@dataclass(frozen=True, slots=True)
class Pick:
    """A result as it was, and the position of its device."""

    position: int
    result: DeviceResult

    def on(self, published: PublishedDevice) -> DeviceResult:
        """Tell it of the device in this position on another node; shares get an id of their own."""
        result, device_id, device = self.result, published.id, published.device
        return DeviceResult(
            request=result.request,
            driver=device_id.driver,
            pool=device_id.pool,
            device=device_id.device,
            admin_access=result.admin_access,
            tolerations=result.tolerations,
            binding_conditions=device.binding_conditions,
            binding_failure_conditions=device.binding_failure_conditions,
            share_id=None if result.share_id is None else str(uuid4()),
            consumed_capacity=result.consumed_capacity,
            skip_node_operations=result.skip_node_operations,
        )


@dataclass(frozen=True, slots=True)
class Solution:
    """How a search ended that found no broken input; without claims, it found no fit."""

    claims: tuple[tuple[tuple[Pick, ...], tuple[AllocatedConfig, ...]], ...] | None
    """What each claim gets: its picks and its configuration."""

    is_exhausted: bool

    def on(self, record: Record, positions: Sequence[int] | None) -> Allocated:
        """Tell the allocation of another node; `positions` are those of the devices that count.

        Raises:
            NodeSelectorError: the node selector of a chosen device is malformed.

        """
        return Allocated(
            tuple(
                _allocation(picks, config, record, positions) for picks, config in self.claims or ()
            ),
            steps=0,
        )


def solution_of(
    outcome: Allocated | DoesNotFit | BudgetExhausted,
    record: Record,
    positions: Sequence[int] | None,
) -> Solution:
    """Take the answer of a search apart that was made on a node, as `Solution.on` wants it."""
    if not isinstance(outcome, Allocated):
        return Solution(None, isinstance(outcome, BudgetExhausted))
    devices = record.devices
    counted = devices if positions is None else [devices[position] for position in positions]
    place = {each.id: at for at, each in enumerate(counted)}
    return Solution(
        tuple(
            (tuple(Pick(place[each.device_id], each) for each in result.results), result.config)
            for result in outcome.results
        ),
        is_exhausted=False,
    )


def _allocation(
    picks: Sequence[Pick],
    config: tuple[AllocatedConfig, ...],
    record: Record,
    positions: Sequence[int] | None,
) -> AllocationResult:
    devices = record.devices
    chosen = [
        devices[pick.position if positions is None else positions[pick.position]] for pick in picks
    ]
    return AllocationResult(
        results=tuple(pick.on(device) for pick, device in zip(picks, chosen, strict=True)),
        config=config,
        node_selector=_selector(chosen, record),
    )


def _selector(chosen: Sequence[PublishedDevice], record: Record) -> NodeSelector | None:
    if chosen and chosen[0].slice.reach.node_name is not None:
        return record.selector
    return node_selector_of(chosen, node=record.node)
