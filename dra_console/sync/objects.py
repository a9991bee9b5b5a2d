"""An API object's identity, and its form in a database column."""

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import orjson

from dra_console.allocator.model import Json, JsonObject
from dra_console.sync.errors import NoIdentityError
from dra_console.sync.reading import text_in, time_in


class ObjectKey(NamedTuple):
    """What names an object at one moment; the namespace is empty for cluster-scoped kinds."""

    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class Metadata:
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
    metadata = Metadata(
        key=ObjectKey(
            text_in(subject, "metadata", "namespace"), text_in(subject, "metadata", "name")
        ),
        uid=text_in(subject, "metadata", "uid"),
        resource_version=text_in(subject, "metadata", "resourceVersion"),
        created_at=time_in(subject, "metadata", "creationTimestamp"),
        deletion_requested_at=time_in(subject, "metadata", "deletionTimestamp"),
    )
    if not (metadata.key.name and metadata.uid and metadata.resource_version):
        raise NoIdentityError(
            "metadata: expected name, uid and resourceVersion, got "
            f"{metadata.key.name!r}, {metadata.uid!r} and {metadata.resource_version!r}"
        )
    return metadata


def storable(subject: JsonObject) -> JsonObject:
    """Return the object as PostgreSQL can hold it: without the character U+0000.

    `jsonb` refuses that character, which the API server accepts in annotations; it is
    replaced by U+FFFD. Everything else is kept as it is.
    """
    if b"\\u0000" not in orjson.dumps(subject):
        return subject
    return {_without_nul_text(key): _without_nul(value) for key, value in subject.items()}


def _without_nul(value: Json) -> Json:
    match value:
        case str():
            return _without_nul_text(value)
        case list():
            return [_without_nul(entry) for entry in value]
        case dict():
            return {_without_nul_text(key): _without_nul(entry) for key, entry in value.items()}
        case _:
            return value


def _without_nul_text(text: str) -> str:
    return text.replace("\0", "\ufffd")
