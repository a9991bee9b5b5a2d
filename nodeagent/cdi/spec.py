"""What one claim's CDI file says.

Everything that a claim's containers need stands in one file: the devices by name, and what all
of them share at file level. A base file per node beside it would make kubelet show the base
device as the health of all others (node-agent.md 3.6). The device name starts with the claim's
UID, so that no name ever comes back with other content: runtimes cache.

Parsers are strict, and a member that is newer than the file's version spoils the whole file, so
nothing is written that is not needed.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from nodeagent.cdi.version import minimal_version
from nodeagent.fields import Json, JsonObject

CLASS: Final = "claim"
READ_ONLY: Final = ("ro", "nosuid", "nodev", "rbind", "rprivate")

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class DeviceNode:
    """A device node in the container, and the node on the host that it stands for.

    With type and major the runtime makes the node from the numbers; without them it looks at
    the host's node when the container is created, and fails if that is not there.
    """

    path: str
    host_path: str
    type: str | None = None
    """`c` for a character device."""

    major: int | None = None
    minor: int | None = None
    file_mode: int | None = None
    """Permission bits, as in `0o666`."""

    gid: int | None = None

    def to_json(self) -> JsonObject:
        """Spell it out; an equal host path is left out, since naming it needs CDI 0.5.0."""
        written: JsonObject = {
            "path": self.path,
            "hostPath": None if self.host_path == self.path else self.host_path,
            "type": self.type,
            "major": self.major,
            "minor": self.minor,
            "fileMode": self.file_mode,
            "gid": self.gid,
        }
        return {name: value for name, value in written.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Mount:
    """A file or directory of the host that is bound into the container."""

    host_path: str
    container_path: str
    options: tuple[str, ...] = READ_ONLY
    """As `mount -o` takes them; a bind mount has `bind` or `rbind` among them."""

    def to_json(self) -> JsonObject:
        """Spell it out. Without `type`: naming it needs CDI 0.4.0, and the options say it."""
        return {
            "hostPath": self.host_path,
            "containerPath": self.container_path,
            "options": list(self.options),
        }


@dataclass(frozen=True, slots=True)
class Hook:
    """A program of the host that the runtime runs while it makes the container."""

    name: str
    """One of the OCI runtime specification's, as in `createContainer`."""

    path: str
    args: tuple[str, ...] = ()
    """The first is the program's name, as ever."""

    env: tuple[str, ...] = ()

    def to_json(self) -> JsonObject:
        """Spell it out; an empty member is left out."""
        hook: JsonObject = {"hookName": self.name, "path": self.path}
        if self.args:
            hook["args"] = list(self.args)
        if self.env:
            hook["env"] = list(self.env)
        return hook


@dataclass(frozen=True, slots=True)
class ContainerEdits:
    """What a runtime changes in a container."""

    env: tuple[str, ...] = ()
    """`NAME=value` each."""

    device_nodes: tuple[DeviceNode, ...] = ()
    mounts: tuple[Mount, ...] = ()
    hooks: tuple[Hook, ...] = ()
    additional_gids: tuple[int, ...] = ()
    """Groups that the container's process joins; needs CDI 0.7.0."""

    def merged(self, *others: "ContainerEdits") -> "ContainerEdits":
        """Add others' edits in order; what is there already is not repeated."""
        every = (self, *others)
        return ContainerEdits(
            env=_once(item for edits in every for item in edits.env),
            device_nodes=_once(node for edits in every for node in edits.device_nodes),
            mounts=_once(mount for edits in every for mount in edits.mounts),
            hooks=_once(hook for edits in every for hook in edits.hooks),
            additional_gids=_once(gid for edits in every for gid in edits.additional_gids),
        )

    def to_json(self) -> JsonObject:
        """Spell out what is there; an empty member is left out."""
        members: dict[str, list[Json]] = {
            "env": list(self.env),
            "deviceNodes": [node.to_json() for node in self.device_nodes],
            "mounts": [mount.to_json() for mount in self.mounts],
            "hooks": [hook.to_json() for hook in self.hooks],
            "additionalGids": list(self.additional_gids),
        }
        return {name: items for name, items in members.items() if items}


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
    return compose(f"{vendor(driver)}/{CLASS}", devices=devices, common=common)


def compose(
    kind: str, *, devices: Mapping[str, ContainerEdits], common: ContainerEdits
) -> JsonObject:
    """Compose a file of any kind (`vendor/class`) at the smallest version that fits."""
    spec: JsonObject = {"kind": kind, "devices": _entries(devices.items())}
    shared = common.to_json()
    if shared:
        spec["containerEdits"] = shared
    return {"cdiVersion": minimal_version(spec), **spec}


def _entries(devices: Iterable[tuple[str, ContainerEdits]]) -> list[Json]:
    return [{"name": name, "containerEdits": edits.to_json()} for name, edits in devices]


def _once(items: Iterable[Item]) -> tuple[Item, ...]:
    return tuple(dict.fromkeys(items))
