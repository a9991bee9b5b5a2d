"""A device plugin that offers this node's GPUs a second time (node-agent.md 8, fault 52).

Kubelet hands out what a device plugin has and what DRA has allocated without looking at the
other, so the same GPU would serve two pods. A plugin shows in the Node as a resource, and as a
socket in kubelet's directory.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from nodeagent.fields import Fields, JsonObject

RESOURCES: Final = ("nvidia.com/gpu", "nvidia.com/mig-")
"""The beginnings of resources' names that NVIDIA's plugin advertises; `.shared` may follow."""

SOCKETS: Final = "nvidia-*.sock"


def device_plugins_of(node: JsonObject | None, kubelet_root: Path) -> str | None:
    """Say what shows a device plugin for these GPUs; `None`: nothing does.

    Raises:
        FieldError: `node` is no Node.

    """
    shown = [f"the Node has {name}: {count}" for name, count in _resources(node)]
    sockets = sorted((kubelet_root / "device-plugins").glob(SOCKETS))
    # The socket alone says nothing: a plugin that was killed leaves it behind.
    if node is None or shown:
        shown += [f"{path} is there" for path in sockets]
    return "; ".join(shown) or None


def _resources(node: JsonObject | None) -> Iterator[tuple[str, str]]:
    status = Fields(node or {}, "Node").optional_object("status")
    # Kubelet goes on naming a resource whose plugin is gone; it has 0 then.
    allocatable = status and status.optional_object("allocatable")
    for name, count in (allocatable.value if allocatable else {}).items():
        if name.startswith(RESOURCES) and count not in ("0", 0):
            yield name, str(count)
