"""From picked devices to `status.allocation`.

Results stand in the order of requests and picks. Configuration is copied, class before
claim; the driver lets later entries win, and lets the claim's win over the class's.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from dra_console.allocator.inventory import Node, NodeReach, NodeSelector
from dra_console.allocator.model import (
    AllocatedConfig,
    AllocationResult,
    ClaimConfig,
    ConfigSource,
    DeviceResult,
)
from dra_console.allocator.quantity import Quantity
from dra_console.allocator.search.asks import Ask, PreparedClaim
from dra_console.allocator.world.nodes import selector_of
from dra_console.allocator.world.pools import PublishedDevice


@dataclass(slots=True, eq=False)
class Pick:
    """A device chosen for an ask. `share_id` is set for a share of a device, and only then."""

    ask: Ask
    published: PublishedDevice
    amounts: Mapping[str, Quantity]
    share_id: str | None = None


def result_of(
    prepared: PreparedClaim, *, chosen: Sequence[Ask], picks: Sequence[Pick], node: Node
) -> AllocationResult:
    """Build the allocation of one claim; `chosen` holds one ask for each of its requests.

    Raises:
        NodeSelectorError: a device has several terms of nodes, which no result can hold.

    """
    return AllocationResult(
        results=tuple(_device_result(pick) for pick in picks),
        config=tuple(_config(prepared, chosen=chosen)),
        node_selector=node_selector_of((pick.published for pick in picks), node=node),
    )


def node_selector_of(devices: Iterable[PublishedDevice], *, node: Node) -> NodeSelector | None:
    """Tell on which nodes devices can be used that were picked for this one.

    Raises:
        NodeSelectorError: a device's node selector is malformed.

    """
    return selector_of((_reach(each, node) for each in devices), node=node)


def _reach(published: PublishedDevice, node: Node) -> NodeReach:
    return NodeReach(node_name=node.name) if published.device.binds_to_node else published.reach


def _device_result(pick: Pick) -> DeviceResult:
    device = pick.published.device
    return DeviceResult(
        request=pick.ask.label,
        driver=pick.published.id.driver,
        pool=pick.published.id.pool,
        device=pick.published.id.device,
        admin_access=pick.ask.wish.admin_access,
        tolerations=pick.ask.wish.tolerations,
        binding_conditions=device.binding_conditions,
        binding_failure_conditions=device.binding_failure_conditions,
        share_id=pick.share_id,
        consumed_capacity=pick.amounts if pick.share_id and pick.amounts else None,
        skip_node_operations=pick.published.skip_node_operations,
    )


def _config(prepared: PreparedClaim, *, chosen: Sequence[Ask]) -> Iterator[AllocatedConfig]:
    for entry in (*_class_config(chosen), *_claim_config(prepared.claim.spec.config, chosen)):
        covers_all = all(_names(entry.requests, ask) for ask in chosen)
        yield AllocatedConfig(entry.source, () if covers_all else entry.requests, entry.opaque)


def _class_config(chosen: Sequence[Ask]) -> Iterator[AllocatedConfig]:
    classes = {ask.device_class.name: ask.device_class for ask in chosen}
    for name, device_class in classes.items():
        users = tuple(ask.label for ask in chosen if ask.device_class.name == name)
        for opaque in device_class.config:
            if opaque is not None:
                yield AllocatedConfig(ConfigSource.CLASS, users, opaque)


def _claim_config(
    config: Iterable[ClaimConfig], chosen: Sequence[Ask]
) -> Iterator[AllocatedConfig]:
    for entry in config:
        is_meant = not entry.requests or any(_names(entry.requests, ask) for ask in chosen)
        if entry.opaque is not None and is_meant:
            yield AllocatedConfig(ConfigSource.CLAIM, entry.requests, entry.opaque)


def _names(requests: Sequence[str], ask: Ask) -> bool:
    return ask.request in requests or ask.label in requests
