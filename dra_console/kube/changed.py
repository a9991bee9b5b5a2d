"""Lists, page by page, of which only those objects are decoded that are not known already.

After a pause everything has to be listed again, though hardly anything has changed: here an
object's identity and version are read in compiled code, and the rest of it only if somebody
wants it. What does not fit the shape of a list is decoded whole, as `lists` does.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import msgspec

from dra_console.allocator.model import Json, JsonObject
from dra_console.kube.kinds import Kind
from dra_console.kube.lists import PAGE_SIZE, decoded_page, listed_as_v1
from dra_console.kube.transport import Request, decode_object


class Identity(NamedTuple):
    """Which object it is, in which version; empty texts for what an object does not say."""

    namespace: str
    name: str
    uid: str
    resource_version: str


IsKnown: TypeAlias = Callable[[Identity], bool]
"""Tells that an object in this version need not be decoded."""

Fetch: TypeAlias = Callable[[Kind, Callable[[Kind], Request]], tuple[bytes, Kind]]
"""Sends a request in the version that is served, and returns the answer and that version."""


@dataclass(frozen=True, slots=True)
class ChangedPage:
    """One page of a list."""

    identities: list[Identity]
    """Of all its objects, known or not, in the API server's order."""

    items: list[JsonObject]
    """Those that are not known, in v1."""

    resource_version: str


def changed_pages_of(fetch: Fetch, kind: Kind, *, is_known: IsKnown) -> Iterator[ChangedPage]:
    """Read all objects of a kind; every page is of the same resource version.

    Raises:
        ExpiredError: the server forgot that version in mid-list; begin again.

    """
    query = {"limit": str(PAGE_SIZE)}
    while True:
        raw, served = fetch(
            kind,
            lambda served: Request(
                "GET", served.path(), query=dict(query), repeats_harmlessly=True
            ),
        )
        page, position = _read(raw, served=served, is_known=is_known)
        del raw
        yield page
        if not position:
            return
        query["continue"] = position


class _Metadata(msgspec.Struct, rename="camel", gc=False):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class _Item(msgspec.Struct, gc=False):
    metadata: _Metadata


class _ListMetadata(
    msgspec.Struct, rename={"resource_version": "resourceVersion", "position": "continue"}
):
    resource_version: str
    position: str = ""


class _List(msgspec.Struct):
    metadata: _ListMetadata
    items: list[msgspec.Raw]


_read_list = msgspec.json.Decoder(_List).decode
_read_item = msgspec.json.Decoder(_Item).decode


def _read(raw: bytes, *, served: Kind, is_known: IsKnown) -> tuple[ChangedPage, str]:
    """Return the page and where the next one begins; empty after the last."""
    try:
        listed = _read_list(raw)
        identities = [_identity(_read_item(item).metadata) for item in listed.items]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _read_whole(raw, served=served, is_known=is_known)
    items = [
        listed_as_v1(decode_object(bytes(item)), served=served)
        for identity, item in zip(identities, listed.items, strict=True)
        if not is_known(identity)
    ]
    version, position = listed.metadata.resource_version, listed.metadata.position
    return ChangedPage(identities, items, version), position


def _read_whole(raw: bytes, *, served: Kind, is_known: IsKnown) -> tuple[ChangedPage, str]:
    page, position = decoded_page(decode_object(raw), served=served)
    identities = [_identity_of(item) for item in page.items]
    items = [
        item
        for identity, item in zip(identities, page.items, strict=True)
        if not is_known(identity)
    ]
    return ChangedPage(identities, items, page.resource_version), position


def _identity(metadata: _Metadata) -> Identity:
    return Identity(metadata.namespace, metadata.name, metadata.uid, metadata.resource_version)


def _identity_of(item: JsonObject) -> Identity:
    metadata = item.get("metadata")
    fields = metadata if isinstance(metadata, dict) else {}
    return Identity(
        _text(fields.get("namespace")),
        _text(fields.get("name")),
        _text(fields.get("uid")),
        _text(fields.get("resourceVersion")),
    )


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""
