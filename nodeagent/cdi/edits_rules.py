"""What may stand in one object of container edits (node-agent.md 3.1)."""

from collections.abc import Callable, Iterator
from typing import Final

from nodeagent.fields import FieldError, Fields

EDITS_MEMBERS: Final = (
    "env", "deviceNodes", "mounts", "hooks", "additionalGids", "intelRdt", "netDevices",
)  # fmt: skip
NODE_MEMBERS: Final = (
    "path", "hostPath", "type", "major", "minor", "fileMode", "permissions", "uid", "gid",
)  # fmt: skip
MOUNT_MEMBERS: Final = ("hostPath", "containerPath", "options", "type")
HOOK_MEMBERS: Final = ("hookName", "path", "args", "env", "timeout")
NET_DEVICE_MEMBERS: Final = ("hostInterfaceName", "name")
RDT_TEXTS: Final = ("closID", "l3CacheSchema", "memBwSchema")
RDT_MEMBERS: Final = (*RDT_TEXTS, "schemata", "enableMonitoring")
HOOK_NAMES: Final = frozenset(
    {"prestart", "createRuntime", "createContainer", "startContainer", "poststart", "poststop"}
)
NODE_TYPES: Final = frozenset("bcup")
NO_PERMISSIONS: Final = "none"
BINDS: Final = frozenset({"bind", "rbind"})

UNSIGNED_LIMIT: Final = 1 << 32
"""Runtimes read user, group and mode into 32 bits without a sign."""

DEVICE_NUMBER_LIMIT: Final = 1 << 32
CLOS_ID_CHARACTERS: Final = 4096


def edits_problems(edits: Fields) -> Iterator[str]:
    """Yield every fault with its field path."""
    yield from _checked(lambda: edits.refuse_others(EDITS_MEMBERS))
    yield from _checked(lambda: _environment(edits, "env"))
    for member, check in (
        ("deviceNodes", _device_node),
        ("mounts", _mount),
        ("hooks", _hook),
        ("netDevices", _net_device),
    ):
        yield from _each(edits, member, check)
    yield from _checked(lambda: _net_devices_differ(edits))
    yield from _checked(lambda: _groups(edits))
    yield from _checked(lambda: _rdt(edits.optional_object("intelRdt")))


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
    if node.optional_text("hostPath"):
        _absolute(node, "hostPath")
    node_type = node.optional_text("type")
    if node_type and node_type not in NODE_TYPES:
        raise FieldError(f"{node.path}.type: expected b, c, u or p, got {node_type!r}")
    permissions = node.optional_text("permissions")
    if permissions and permissions != NO_PERMISSIONS and not set(permissions) <= set("rwm"):
        raise FieldError(f"{node.path}.permissions: expected some of r, w, m, got {permissions!r}")
    for number in ("major", "minor"):
        _below(node, number, DEVICE_NUMBER_LIMIT)
    for number in ("fileMode", "uid", "gid"):
        _below(node, number, UNSIGNED_LIMIT)


def _mount(mount: Fields) -> None:
    mount.refuse_others(MOUNT_MEMBERS)
    _absolute(mount, "hostPath")
    _absolute(mount, "containerPath")
    options = mount.texts("options")
    if not mount.optional_text("type") and BINDS.isdisjoint(options):
        raise FieldError(f"{mount.path}.options: expected bind or rbind among them, got {options}")


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
    for member in NET_DEVICE_MEMBERS:
        if not device.text(member):
            raise FieldError(f"{device.path}.{member}: expected a name, got nothing")


def _net_devices_differ(edits: Fields) -> None:
    devices = edits.objects("netDevices")
    for member in NET_DEVICE_MEMBERS:
        names = [device.text(member) for device in devices]
        if len(set(names)) < len(names):
            raise FieldError(f"{edits.path}.netDevices: {member} is there twice")


def _groups(edits: Fields) -> None:
    groups = edits.value.get("additionalGids")
    if groups is None:
        return
    path = f"{edits.path}.additionalGids"
    if not isinstance(groups, list):
        raise FieldError(f"{path}: expected a list, got {groups!r}")
    for index, group in enumerate(groups):
        if isinstance(group, bool) or not isinstance(group, int):
            raise FieldError(f"{path}[{index}]: expected a whole number, got {group!r}")
        if not 0 <= group < UNSIGNED_LIMIT:
            raise FieldError(f"{path}[{index}]: expected 0 to {UNSIGNED_LIMIT - 1}, got {group}")


def _rdt(rdt: Fields | None) -> None:
    if rdt is None:
        return
    rdt.refuse_others(RDT_MEMBERS)
    for member in RDT_TEXTS:
        rdt.optional_text(member)
    rdt.texts("schemata")
    rdt.flag("enableMonitoring")
    clos_id = rdt.optional_text("closID") or ""
    is_name = clos_id == "/" or (clos_id not in (".", "..") and "/" not in clos_id)
    if not is_name or len(clos_id) >= CLOS_ID_CHARACTERS:
        raise FieldError(f"{rdt.path}.closID: {clos_id!r} cannot be the name of a file")


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


def _below(fields: Fields, member: str, limit: int) -> None:
    number = fields.optional_integer(member)
    if number is not None and not 0 <= number < limit:
        raise FieldError(f"{fields.path}.{member}: expected 0 to {limit - 1}, got {number}")


def _checked(check: Callable[[], None]) -> Iterator[str]:
    try:
        check()
    except FieldError as error:
        yield str(error)
