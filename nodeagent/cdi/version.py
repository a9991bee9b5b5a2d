"""The smallest CDI version that a file's content needs (node-agent.md 3.2).

A runtime refuses a whole file whose version it does not know, and a file that uses a field
before its version. Both have been seen on real nodes, so the version is computed per file.
"""

from collections.abc import Iterator
from typing import Final, TypeAlias

from nodeagent.fields import JsonObject

Version: TypeAlias = tuple[int, int, int]

KNOWN: Final[tuple[Version, ...]] = (
    (0, 3, 0),
    (0, 4, 0),
    (0, 5, 0),
    (0, 6, 0),
    (0, 7, 0),
    (0, 8, 0),
    (1, 0, 0),
    (1, 1, 0),
)
RDT_SCHEMATA_MEMBERS: Final = ("schemata", "enableMonitoring")


def minimal_version(spec: JsonObject) -> str:
    """Return the version to write, as in `0.5.0`. The spec's own `cdiVersion` does not matter."""
    return ".".join(str(part) for part in needed(spec))


def needed(spec: JsonObject) -> Version:
    """Return the smallest version that has everything the spec uses."""
    return max(_needs(spec), default=KNOWN[0])


def _needs(spec: JsonObject) -> Iterator[Version]:
    kind = spec.get("kind")
    if isinstance(kind, str) and "." in kind.partition("/")[2]:
        yield (0, 6, 0)
    if spec.get("annotations"):
        yield (0, 6, 0)
    yield from _edits_need(spec.get("containerEdits"))
    devices = spec.get("devices")
    for device in devices if isinstance(devices, list) else []:
        if isinstance(device, dict):
            yield from _device_needs(device)


def _device_needs(device: JsonObject) -> Iterator[Version]:
    name = device.get("name")
    if isinstance(name, str) and name[:1].isdigit():
        yield (0, 5, 0)
    if device.get("annotations"):
        yield (0, 6, 0)
    yield from _edits_need(device.get("containerEdits"))


def _edits_need(edits: object) -> Iterator[Version]:
    if not isinstance(edits, dict):
        return
    if any(mount.get("type") for mount in _objects(edits.get("mounts"))):
        yield (0, 4, 0)
    if any(node.get("hostPath") for node in _objects(edits.get("deviceNodes"))):
        yield (0, 5, 0)
    rdt = edits.get("intelRdt")
    # An object without members counts as used: its presence switches something on.
    if edits.get("additionalGids") or rdt is not None:
        yield (0, 7, 0)
    if edits.get("netDevices"):
        yield (1, 1, 0)
    if isinstance(rdt, dict) and any(
        rdt.get(member) not in (None, False) for member in RDT_SCHEMATA_MEMBERS
    ):
        yield (1, 1, 0)


def _objects(value: object) -> list[JsonObject]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
