"""Whether an allocated claim can be used by a pod on a node: the scheduler's filter.

The allocation says from where its devices can be used. Devices that have to be bound to the
node first (KEP-5007) say in the claim's status how that went: while they are not ready the
claim is still good for a node, until one of them fails or the time to wait is over.
"""

from enum import StrEnum
from typing import Final

from dra_console.allocator.model import DeviceResult, DeviceStatus, Node, ResourceClaim
from dra_console.allocator.rules import DEFAULT_RULES, Feature, Rules
from dra_console.allocator.world.nodes import selects

TRUE: Final = "True"


class Unavailable(StrEnum):
    """Why an allocated claim is of no use on a node."""

    OTHER_NODES = "its devices can be used from other nodes only"
    OPERATIONS = "the node cannot skip node operations"
    BINDING_FAILED = "binding a device has failed"
    BINDING_TIMED_OUT = "binding its devices took too long"


def unavailable(
    claim: ResourceClaim, *, node: Node, is_overdue: bool, rules: Rules = DEFAULT_RULES
) -> Unavailable | None:
    """Say why an allocated claim is of no use on the node; `None` if it is good.

    `is_overdue` tells whether the allocation is older than the binding timeout. A claim that
    holds nothing yet is the allocator's business, and `None` here.

    Raises:
        NodeSelectorError: the allocation's node selector is malformed.

    """
    allocation = claim.allocation
    if allocation is None:
        return None
    if allocation.node_selector is not None and not selects(allocation.node_selector, node=node):
        return Unavailable.OTHER_NODES
    can_skip = Feature.OPTIONAL_NODE_OPERATIONS.value in node.declared_features
    if not can_skip and any(each.skip_node_operations for each in allocation.results):
        return Unavailable.OPERATIONS
    return _binding(claim, is_overdue=is_overdue) if rules.has(Feature.BINDING_CONDITIONS) else None


def _binding(claim: ResourceClaim, *, is_overdue: bool) -> Unavailable | None:
    for result in _to_bind(claim):
        status = _status_of(result, claim)
        if status is None:
            return Unavailable.BINDING_TIMED_OUT if is_overdue else None
        if any(status.conditions.get(each) == TRUE for each in result.binding_failure_conditions):
            return Unavailable.BINDING_FAILED
        if any(status.conditions.get(each) != TRUE for each in result.binding_conditions):
            return Unavailable.BINDING_TIMED_OUT if is_overdue else None
    return None


def _to_bind(claim: ResourceClaim) -> tuple[DeviceResult, ...]:
    results = claim.allocation.results if claim.allocation is not None else ()
    return tuple(each for each in results if each.binding_conditions)


def _status_of(result: DeviceResult, claim: ResourceClaim) -> DeviceStatus | None:
    """Find what the driver says of a device; shares of it are not told apart."""
    return next((each for each in claim.devices if each.device_id == result.device_id), None)


def is_ready(claim: ResourceClaim) -> bool:
    """Tell whether all devices are bound, so that the pod may be bound as well."""
    for result in _to_bind(claim):
        status = _status_of(result, claim)
        wanted = result.binding_conditions
        if status is None or any(status.conditions.get(each) != TRUE for each in wanted):
            return False
        if any(status.conditions.get(each) == TRUE for each in result.binding_failure_conditions):
            return False
    return claim.allocation is not None
