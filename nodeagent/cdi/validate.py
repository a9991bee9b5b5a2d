"""Whether a container runtime would take a CDI file (node-agent.md 3.1 to 3.3).

Runtimes parse strictly and drop a file whole at the first fault, after which every container of
the claim fails with "unresolvable CDI devices". So the agent checks its own output before it
becomes visible. The checks are on JSON, because a file from disk is checked by the same rules.
Nothing passes here that the runtimes' own library (CDI 1.1) refuses; some of what it lets pass
and the kernel or runc would refuse, a relative path say, is refused here.
"""

import re
from collections.abc import Callable, Iterator
from typing import Final

from nodeagent.cdi.edits_rules import edits_problems
from nodeagent.cdi.version import KNOWN, needed
from nodeagent.fields import FieldError, Fields

KIND: Final = re.compile(
    r"[A-Za-z](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?/[A-Za-z](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?"
)
DEVICE_NAME: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.:-]*[A-Za-z0-9])?")
ANNOTATION: Final = re.compile(
    r"(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*/)?"
    r"[a-z0-9](?:[a-z0-9_.-]{0,61}[a-z0-9])?"
)
ANNOTATION_PREFIX_CHARACTERS: Final = 253
ANNOTATION_BYTES: Final = 256 << 10

SPEC_MEMBERS: Final = ("cdiVersion", "kind", "annotations", "devices", "containerEdits")
DEVICE_MEMBERS: Final = ("name", "annotations", "containerEdits")


def problems(spec: object) -> tuple[str, ...]:
    """Return every fault of a spec, each with its field path; empty if a runtime would take it."""
    return (*_unprintable(spec, ""), *_spec(spec))


def _spec(spec: object) -> Iterator[str]:
    try:
        fields = Fields.of(spec, "")
        kind = fields.text("kind")
        devices = fields.objects("devices")
        edits = fields.optional_object("containerEdits")
    except FieldError as error:
        yield str(error)
        return
    yield from _checked(lambda: fields.refuse_others(SPEC_MEMBERS))
    yield from _version(fields)
    yield from _checked(lambda: _annotations(fields))
    if not KIND.fullmatch(kind):
        yield f"kind: expected vendor/class, got {kind!r}"
    if not devices:
        yield "devices: expected at least one device"
    seen: set[str] = set()
    for device in devices:
        yield from _device(device, seen)
    if edits is not None:
        yield from edits_problems(edits)


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
    yield from _checked(lambda: _annotations(device))
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
        yield from edits_problems(edits)


def _annotations(fields: Fields) -> None:
    annotations = fields.optional_object("annotations")
    if annotations is None:
        return
    total = 0
    for key in annotations.value:
        prefix, slash, _ = key.rpartition("/")
        if not ANNOTATION.fullmatch(key.lower()) or (
            slash and len(prefix) > ANNOTATION_PREFIX_CHARACTERS
        ):
            raise FieldError(f"{annotations.path}: {key!r} is no key of an annotation")
        total += len(key.encode()) + len(annotations.text(key).encode())
    if total > ANNOTATION_BYTES:
        raise FieldError(f"{annotations.path}: {total} bytes, more than {ANNOTATION_BYTES}")


def _unprintable(value: object, path: str) -> Iterator[str]:
    """Find text that YAML, by which runtimes read JSON files too, or an environment cannot hold."""
    if isinstance(value, dict):
        for key, item in value.items():
            if not key.isprintable():
                yield f"{path}: the member {key!r} has characters that cannot be printed"
            yield from _unprintable(item, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _unprintable(item, f"{path}[{index}]")
    elif isinstance(value, str) and not value.isprintable():
        yield f"{path}: {value!r} has characters that cannot be printed"


def _checked(check: Callable[[], None]) -> Iterator[str]:
    try:
        check()
    except FieldError as error:
        yield str(error)
