"""What one claim's CDI file says.

Everything that a claim's containers need stands in one file: the devices by name, and what all
of them share at file level. A base file per node beside it would make kubelet show the base
device as the health of all others (node-agent.md 3.6). The device name starts with the claim's
UID, so that no name ever comes back with other content: runtimes cache.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from nodeagent.cdi.version import minimal_version
from nodeagent.fields import Json, JsonObject

CLASS: Final = "claim"


@dataclass(frozen=True, slots=True)
class DeviceNode:
    """A device node in the container, and the node on the host that it stands for."""

    path: str
    host_path: str

    def to_json(self) -> JsonObject:
        """Spell it out; an equal host path is left out, since naming it needs CDI 0.5.0."""
        if self.host_path == self.path:
            return {"path": self.path}
        return {"path": self.path, "hostPath": self.host_path}


@dataclass(frozen=True, slots=True)
class ContainerEdits:
    """What a runtime changes in a container."""

    env: tuple[str, ...] = ()
    device_nodes: tuple[DeviceNode, ...] = ()

    def to_json(self) -> JsonObject:
        """Spell out what is there; an empty member is left out."""
        edits: JsonObject = {}
        if self.env:
            edits["env"] = list(self.env)
        if self.device_nodes:
            nodes: list[Json] = [node.to_json() for node in self.device_nodes]
            edits["deviceNodes"] = nodes
        return edits


def vendor(driver: str) -> str:
    """Return the vendor under which a driver's claims are injected."""
    return f"k8s.{driver}"


def device_name(claim_uid: str, device: str, *, share_id: str | None = None) -> str:
    """Name a claim's device; two shares of one device get two names."""
    parts = (claim_uid, device) if share_id is None else (claim_uid, device, share_id)
    return "-".join(parts)


def qualified_name(driver: str, name: str) -> str:
    """Return what kubelet hands to the runtime, as in `k8s.gpu.nvidia.com/claim=<uid>-gpu-0`."""
    return f"{vendor(driver)}/{CLASS}={name}"


def build(
    driver: str,
    *,
    devices: Mapping[str, ContainerEdits],
    common: ContainerEdits,
) -> JsonObject:
    """Compose a claim's file from its devices by CDI name, at the smallest version that fits."""
    spec: JsonObject = {
        "kind": f"{vendor(driver)}/{CLASS}",
        "devices": _entries(devices.items()),
    }
    shared = common.to_json()
    if shared:
        spec["containerEdits"] = shared
    return {"cdiVersion": minimal_version(spec), **spec}


def _entries(devices: Iterable[tuple[str, ContainerEdits]]) -> list[Json]:
    return [{"name": name, "containerEdits": edits.to_json()} for name, edits in devices]
