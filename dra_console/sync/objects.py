"""An API object's identity, and its form in a database column."""

import re
from datetime import datetime
from typing import Final, NamedTuple

import orjson

from dra_console.allocator.model import Json, JsonObject
from dra_console.kube.changed import Identity
from dra_console.kube.lenient import INTEGERS, LEFT_OUT
from dra_console.sync.errors import NoIdentityError
from dra_console.sync.reading import object_in, text_in, time_in

DEEPEST_LEVEL: Final = 250
"""Of nested lists and objects, the object itself included; what wrote it takes 254."""

LARGEST_DOUBLE: Final = 1e308
UNSTORABLE: Final = re.compile("[\0\ud800-\udfff]")


class ObjectKey(NamedTuple):
    """What names an object at one moment; the namespace is empty for cluster-scoped kinds."""

    namespace: str
    name: str

    @classmethod
    def of(cls, identity: Identity) -> "ObjectKey":
        """Take it from what a list says of an object."""
        return cls(identity.namespace, identity.name)


class Metadata(NamedTuple):
    """The part of `metadata` that every row repeats."""

    key: ObjectKey
    uid: str
    resource_version: str
    created_at: datetime | None
    deletion_requested_at: datetime | None


def metadata_of(subject: JsonObject) -> Metadata:
    """Read an object's metadata.

    Raises:
        NoIdentityError: name, UID or resource version is missing.

    """
    fields = object_in(subject, "metadata")
    metadata = Metadata(
        key=ObjectKey(text_in(fields, "namespace"), text_in(fields, "name")),
        uid=text_in(fields, "uid"),
        resource_version=text_in(fields, "resourceVersion"),
        created_at=time_in(fields, "creationTimestamp"),
        deletion_requested_at=time_in(fields, "deletionTimestamp"),
    )
    if not (metadata.key.name and metadata.uid and metadata.resource_version):
        raise NoIdentityError(
            "metadata: expected name, uid and resourceVersion, got "
            f"{metadata.key.name!r}, {metadata.uid!r} and {metadata.resource_version!r}"
        )
    return metadata


def key_of(subject: JsonObject) -> ObjectKey:
    """Read what names an object, as far as it says."""
    fields = object_in(subject, "metadata")
    return ObjectKey(text_in(fields, "namespace"), text_in(fields, "name"))


def storable(subject: JsonObject) -> JsonObject:
    """Return the object as both databases can hold it.

    PostgreSQL's `jsonb` refuses the character U+0000, which the API server accepts in
    annotations; it is replaced by U+FFFD. What a driver's parameters nest deeper than
    `DEEPEST_LEVEL` is left out, with a text in its place. Everything else is kept as it is.
    """
    try:
        if b"\\u0000" not in orjson.dumps(subject):
            return subject
    except TypeError:
        # Nested too deep, or a number or text that no JSON holds.
        pass
    return {_plain_text(key): _plain(value, level=2) for key, value in subject.items()}


def alteration_of(subject: JsonObject) -> str:
    """Say what `storable` cannot keep of an object; empty if it keeps everything."""
    kept = storable(subject)
    if kept is subject:
        return ""
    if LEFT_OUT.encode() in orjson.dumps(kept):
        return f"mirrored without what is nested deeper than {DEEPEST_LEVEL} levels"
    return "mirrored with U+FFFD in place of the character U+0000 and of what is no character"


def _plain(value: Json, *, level: int) -> Json:
    # Loops, not comprehensions: each of those would be one more frame for each level.
    if isinstance(value, str):
        return _plain_text(value)
    if isinstance(value, list | dict) and level > DEEPEST_LEVEL:
        return LEFT_OUT
    if isinstance(value, list):
        entries: list[Json] = []
        for entry in value:
            entries.append(_plain(entry, level=level + 1))  # noqa: PERF401
        return entries
    if isinstance(value, dict):
        fields: JsonObject = {}
        for key, entry in value.items():
            fields[_plain_text(key)] = _plain(entry, level=level + 1)
        return fields
    if isinstance(value, int) and value not in INTEGERS:
        return float(value) if abs(value) < LARGEST_DOUBLE else str(value)
    return value


def _plain_text(text: str) -> str:
    return UNSTORABLE.sub("\ufffd", text)
