"""Checks of one CDI spec file, as strict as a container runtime's parser.

Follows `node-agent.md` 3.1 to 3.3 (CDI specification 1.1.0). A runtime refuses a whole file
for one unknown member or one device without edits, and then the container does not start;
so does the simulated kubelet, to show a faulty driver here rather than on a real node.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from dra_console.allocator.decoding.reading import Fields
from dra_console.allocator.errors import DecodeError
from dra_console.allocator.model import Json

VERSIONS: Final = ("0.3.0", "0.4.0", "0.5.0", "0.6.0", "0.7.0", "0.8.0", "1.0.0", "1.1.0")

VENDOR_OR_CLASS: Final = re.compile(r"[A-Za-z]([A-Za-z0-9_.-]*[A-Za-z0-9])?")
DEVICE_NAME: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.:-]*[A-Za-z0-9])?")

FILE_MEMBERS: Final = frozenset({"cdiVersion", "kind", "annotations", "devices", "containerEdits"})
DEVICE_MEMBERS: Final = frozenset({"name", "annotations", "containerEdits"})
EDIT_MEMBERS: Final = frozenset(
    {"env", "deviceNodes", "mounts", "hooks", "additionalGids", "intelRdt", "netDevices"}
)
NODE_MEMBERS: Final = frozenset(
    {"path", "hostPath", "type", "major", "minor", "fileMode", "permissions", "uid", "gid"}
)
MOUNT_MEMBERS: Final = frozenset({"hostPath", "containerPath", "options", "type"})
HOOK_MEMBERS: Final = frozenset({"hookName", "path", "args", "env", "timeout"})
HOOK_NAMES: Final = frozenset(
    {"prestart", "createRuntime", "createContainer", "startContainer", "poststart", "poststop"}
)
NODE_TYPES: Final = frozenset({"", "b", "c", "u", "p"})


@dataclass(frozen=True, slots=True)
class CdiDevice:
    """One device of a valid file."""

    qualified_name: str
    """`vendor/class=name`."""

    host_nodes: tuple[str, ...]
    """Paths that the runtime looks up on the host when it creates the container."""


def read_spec(content: Json) -> tuple[CdiDevice, ...]:
    """Check the decoded content of one file and return its devices.

    Raises:
        DecodeError: the file is invalid; the path names the member.

    """
    spec = Fields.at("", content)
    _refuse_unknown(spec, FILE_MEMBERS)
    version = spec.text("cdiVersion")
    if version not in VERSIONS:
        raise DecodeError("cdiVersion", f"expected one of {', '.join(VERSIONS)}, got {version!r}")
    kind = spec.text("kind")
    vendor, separator, class_name = kind.partition("/")
    if not separator or not all(map(VENDOR_OR_CLASS.fullmatch, (vendor, class_name))):
        raise DecodeError("kind", f"expected vendor/class, got {kind!r}")
    common_nodes = tuple(_host_nodes(spec.child("containerEdits")))
    devices = tuple(
        _device(device, kind=kind, common_nodes=common_nodes) for device in spec.children("devices")
    )
    if not devices:
        raise DecodeError("devices", "expected at least one device, got none")
    names = [device.qualified_name for device in devices]
    if len(set(names)) < len(names):
        raise DecodeError("devices", "two devices have the same name")
    needed = _needed_version(spec)
    if VERSIONS.index(version) < VERSIONS.index(needed):
        raise DecodeError("cdiVersion", f"the content needs {needed} or later, got {version}")
    return devices


def _device(device: Fields, *, kind: str, common_nodes: tuple[str, ...]) -> CdiDevice:
    _refuse_unknown(device, DEVICE_MEMBERS)
    name = device.text("name")
    if not DEVICE_NAME.fullmatch(name):
        raise DecodeError(device.path_of("name"), f"not a device name: {name!r}")
    edits = device.child("containerEdits")
    if edits is None or not any(edits.raw.values()):
        raise DecodeError(device.path_of("containerEdits"), "a device needs at least one edit")
    return CdiDevice(f"{kind}={name}", common_nodes + tuple(_host_nodes(edits)))


def _host_nodes(edits: Fields | None) -> Iterator[str]:
    """Check the edits; yield the paths of device nodes that are looked up on the host."""
    if edits is None:
        return
    _refuse_unknown(edits, EDIT_MEMBERS)
    for path, entry in edits.items("env"):
        if not isinstance(entry, str) or entry.find("=") < 1:
            raise DecodeError(path, f"expected NAME=value, got {entry!r}")
    for mount in edits.children("mounts"):
        _refuse_unknown(mount, MOUNT_MEMBERS)
        _require(mount, "hostPath", "containerPath")
        mount.texts("options")
    for hook in edits.children("hooks"):
        _refuse_unknown(hook, HOOK_MEMBERS)
        _require(hook, "path")
        if hook.text("hookName") not in HOOK_NAMES:
            raise DecodeError(hook.path_of("hookName"), f"not a hook: {hook.text('hookName')!r}")
    for node in edits.children("deviceNodes"):
        yield from _host_node(node)


def _host_node(node: Fields) -> Iterator[str]:
    _refuse_unknown(node, NODE_MEMBERS)
    _require(node, "path")
    if node.text("type") not in NODE_TYPES:
        raise DecodeError(node.path_of("type"), f"expected b, c, u or p, got {node.text('type')!r}")
    if set(node.text("permissions")) - set("rwm"):
        raise DecodeError(node.path_of("permissions"), "expected letters of rwm")
    if not (node.text("type") and (node.text("type") == "p" or node.integer("major"))):
        yield node.text("hostPath") or node.text("path")


def _require(fields: Fields, *members: str) -> None:
    for member in members:
        if not fields.text(member):
            raise DecodeError(fields.path_of(member), "expected a text, got nothing")


def _refuse_unknown(fields: Fields, known: frozenset[str]) -> None:
    for member in fields.raw:
        if member not in known:
            raise DecodeError(fields.path_of(member), "unknown member")


def _needed_version(spec: Fields) -> str:
    """Compute the oldest version that allows everything the file uses."""
    devices = tuple(spec.children("devices"))
    edits = [edit for holder in (spec, *devices) if (edit := holder.child("containerEdits"))]
    uses: Mapping[str, bool] = {
        "1.1.0": any(edit.has("netDevices") for edit in edits),
        "0.7.0": any(edit.has("additionalGids") or edit.has("intelRdt") for edit in edits),
        "0.6.0": any(holder.has("annotations") for holder in (spec, *devices))
        or "." in spec.text("kind").partition("/")[2],
        "0.5.0": any(device.text("name")[0].isdigit() for device in devices)
        or any(node.has("hostPath") for edit in edits for node in edit.children("deviceNodes")),
        "0.4.0": any(mount.has("type") for edit in edits for mount in edit.children("mounts")),
    }
    return next((version for version, used in uses.items() if used), VERSIONS[0])
