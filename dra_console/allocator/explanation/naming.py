"""How devices of alike nodes are named together, and told apart again.

A pool mostly has the name of its node (the kubelet plugin's default) or one that contains
it; devices are numbered alike everywhere. So `*` in `driver/pool/device` stands for the
node's name. No name of the API has a `*` in it; where one has it all the same, the node
stands alone in its group, and names are then written as they are.
"""

from typing import Final, TypeAlias

from dra_console.allocator.inventory import DeviceId

ANY_NODE: Final = "*"
Naming: TypeAlias = tuple[str, ...]
"""Equal for nodes whose devices can be named together."""


def naming_of(device_ids: tuple[DeviceId, ...], *, node: str) -> Naming:
    """Name the devices of a node but for the node, or as only this node does."""
    naming = tuple(name_in_group(each, node=node) for each in device_ids)
    if any(ANY_NODE in str(each) for each in device_ids):
        return (node, *naming)
    return naming


def name_in_group(device_id: DeviceId, *, node: str) -> str:
    """Write a device with `*` for the node's name."""
    return str(device_id).replace(node, ANY_NODE) if node else str(device_id)


def name_on(node: str, pattern: str) -> str:
    """Undo `name_in_group` for one node of a group."""
    return pattern.replace(ANY_NODE, node)
