"""Whether a container runtime would take a CDI file (node-agent.md 3.1 to 3.3).

Runtimes parse strictly and drop a file whole at the first fault, after which every container of
the claim fails with "unresolvable CDI devices". So the agent checks its own output before it
becomes visible. The checks are on JSON, because a file from disk is checked by the same rules.
"""

import re
from collections.abc import Callable, Iterator
from typing import Final

from nodeagent.cdi.version import KNOWN, needed
from nodeagent.fields import FieldError, Fields

KIND: Final = re.compile(
    r"[A-Za-z](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?/[A-Za-z](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?"
)
DEVICE_NAME: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.:-]*[A-Za-z0-9])?")

SPEC_MEMBERS: Final = ("cdiVersion", "kind", "annotations", "devices", "containerEdits")
DEVICE_MEMBERS: Final = ("name", "annotations", "containerEdits")
EDITS_MEMBERS: Final = (
    "env", "deviceNodes", "mounts", "hooks", "additionalGids", "intelRdt", "netDevices",
)  # fmt: skip
NODE_MEMBERS: Final = (
    "path", "hostPath", "type", "major", "minor", "fileMode", "permissions", "uid", "gid",
)  # fmt: skip
MOUNT_MEMBERS: Final = ("hostPath", "containerPath", "options", "type")
HOOK_MEMBERS: Final = ("hookName", "path", "args", "env", "timeout")
NET_DEVICE_MEMBERS: Final = ("hostInterfaceName", "name")
HOOK_NAMES: Final = frozenset(
    {"prestart", "createRuntime", "createContainer", "startContainer", "poststart", "poststop"}
)
NODE_TYPES: Final = frozenset("bcup")


def problems(spec: object) -> tuple[str, ...]:
    """Return every fault of a spec, each with its field path; empty if a runtime would take it."""
    return tuple(_spec(spec))


def _spec(spec: object) -> Iterator[str]:
    try:
        fields = Fields.of(spec, "")
        yield from _checked(lambda: fields.refuse_others(SPEC_MEMBERS))
        kind = fields.text("kind")
        devices = fields.objects("devices")
        edits = fields.optional_object("containerEdits")
    except FieldError as error:
        yield str(error)
        return
    yield from _version(fields)
    if not KIND.fullmatch(kind):
        yield f"kind: expected vendor/class, got {kind!r}"
    if not devices:
        yield "devices: expected at least one device"
    seen: set[str] = set()
    for device in devices:
        yield from _device(device, seen)
    if edits is not None:
        yield from _edits(edits)


def _version(fields: Fields) -> Iterator[str]:
    try:
        written = fields.text("cdiVersion")
    except FieldError as error:
        yield str(error)
        return
    spelled = {".".join(map(str, version)): version for version in KNOWN}
    if written not in spelled:
        yield f"cdiVersion: {written!r} is no released version"
    elif spelled[written] < needed(fields.value):
        least = ".".join(map(str, needed(fields.value)))
        yield f"cdiVersion: the content needs {least}, got {written}"


def _device(device: Fields, seen: set[str]) -> Iterator[str]:
    yield from _checked(lambda: device.refuse_others(DEVICE_MEMBERS))
    try:
        name = device.text("name")
        edits = device.optional_object("containerEdits")
    except FieldError as error:
        yield str(error)
        return
    if not DEVICE_NAME.fullmatch(name):
        yield f"{device.path}.name: {name!r} is no CDI device name"
    if name in seen:
        yield f"{device.path}.name: {name!r} is there twice"
    seen.add(name)
    if edits is None or not any(edits.value.values()):
        yield f"{device.path}.containerEdits: expected at least one edit, got none"
    else:
        yield from _edits(edits)


def _edits(edits: Fields) -> Iterator[str]:
    yield from _checked(lambda: edits.refuse_others(EDITS_MEMBERS))
    yield from _checked(lambda: _environment(edits, "env"))
    for member, check in (
        ("deviceNodes", _device_node),
        ("mounts", _mount),
        ("hooks", _hook),
        ("netDevices", _net_device),
    ):
        yield from _each(edits, member, check)


def _each(edits: Fields, member: str, check: Callable[[Fields], None]) -> Iterator[str]:
    try:
        items = edits.objects(member)
    except FieldError as error:
        yield str(error)
        return
    for item in items:
        yield from _checked(lambda item=item: check(item))  # type: ignore[misc] # mypy cannot type a default in a lambda


def _device_node(node: Fields) -> None:
    node.refuse_others(NODE_MEMBERS)
    _absolute(node, "path")
    if node.optional_text("hostPath") is not None:
        _absolute(node, "hostPath")
    node_type = node.optional_text("type")
    if node_type is not None and node_type not in NODE_TYPES:
        raise FieldError(f"{node.path}.type: expected b, c, u or p, got {node_type!r}")
    permissions = node.optional_text("permissions")
    if permissions is not None and not set(permissions) <= set("rwm"):
        raise FieldError(f"{node.path}.permissions: expected some of r, w, m, got {permissions!r}")
    for number in ("major", "minor", "fileMode", "uid", "gid"):
        node.optional_integer(number)


def _mount(mount: Fields) -> None:
    mount.refuse_others(MOUNT_MEMBERS)
    mount.text("hostPath")
    mount.text("containerPath")
    mount.optional_text("type")
    mount.texts("options")


def _hook(hook: Fields) -> None:
    hook.refuse_others(HOOK_MEMBERS)
    name = hook.text("hookName")
    if name not in HOOK_NAMES:
        raise FieldError(f"{hook.path}.hookName: {name!r} is no OCI hook")
    _absolute(hook, "path")
    hook.texts("args")
    _environment(hook, "env")
    timeout_seconds = hook.optional_integer("timeout")
    if timeout_seconds is not None and timeout_seconds <= 0:
        raise FieldError(f"{hook.path}.timeout: expected more than 0, got {timeout_seconds}")


def _net_device(device: Fields) -> None:
    device.refuse_others(NET_DEVICE_MEMBERS)
    device.text("hostInterfaceName")
    device.text("name")


def _environment(fields: Fields, member: str) -> None:
    for index, setting in enumerate(fields.texts(member)):
        if setting.find("=") < 1:
            raise FieldError(
                f"{fields.path}.{member}[{index}]: expected NAME=value, got {setting!r}"
            )


def _absolute(fields: Fields, member: str) -> None:
    path = fields.text(member)
    if not path.startswith("/"):
        raise FieldError(f"{fields.path}.{member}: expected an absolute path, got {path!r}")


def _checked(check: Callable[[], None]) -> Iterator[str]:
    try:
        check()
    except FieldError as error:
        yield str(error)
