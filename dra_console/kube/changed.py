"""Lists, page by page, of which only those objects are decoded that are not known already.

After a pause everything has to be listed again, though hardly anything has changed: here an
object's identity and version are read in compiled code, and the rest of it only if somebody
wants it. What does not fit the shape of a list is decoded whole, as `lists` does.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import msgspec
import orjson

from dra_console.allocator.model import Json, JsonObject
from dra_console.kube.kinds import Kind
from dra_console.kube.lists import PAGE_SIZE, decoded_page, listed_as_v1
from dra_console.kube.shapes import is_lifted
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
class SentObject:
    """One object of a page, decoded only when somebody asks for it.

    Holds on to the bytes of its whole page.
    """

    identity: Identity
    served: Kind
    sent: msgspec.Raw | JsonObject
    """As it came; or in v1, where the page had to be decoded whole."""

    says_its_kind: bool = False
    """Entries of a list usually do not."""

    def read(self) -> JsonObject:
        """Decode it, in v1, with what a watch says of it."""
        if isinstance(self.sent, msgspec.Raw):
            return listed_as_v1(decode_object(bytes(self.sent)), served=self.served)
        return self.sent

    def text(self) -> bytes | None:
        """Return the JSON text of what `read` returns; `None` where it was not sent that way."""
        if not isinstance(self.sent, msgspec.Raw) or self.says_its_kind or is_lifted(self.served):
            return None
        return b"".join((_opening_of(self.served), memoryview(self.sent)[1:]))


@dataclass(frozen=True, slots=True)
class ChangedPage:
    """One page of a list."""

    identities: list[Identity]
    """Of all its objects, known or not, in the API server's order."""

    changed: list[SentObject]
    """Those that are not known."""

    resource_version: str

    size_bytes: int
    """Of the answer, which lives as long as one of `changed` does."""

    @property
    def items(self) -> list[JsonObject]:
        """Decode those that are not known, in v1."""
        return [each.read() for each in self.changed]


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


class _Item(msgspec.Struct, rename="camel", gc=False):
    metadata: _Metadata
    api_version: str = ""
    kind: str = ""


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
        items = [_read_item(item) for item in listed.items]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _read_whole(raw, served=served, is_known=is_known)
    identities = [_identity(item.metadata) for item in items]
    changed = [
        SentObject(identity, served, sent, bool(item.api_version or item.kind))
        for identity, item, sent in zip(identities, items, listed.items, strict=True)
        if not is_known(identity)
    ]
    version, position = listed.metadata.resource_version, listed.metadata.position
    return ChangedPage(identities, changed, version, len(raw)), position


def _read_whole(raw: bytes, *, served: Kind, is_known: IsKnown) -> tuple[ChangedPage, str]:
    page, position = decoded_page(decode_object(raw), served=served)
    identities = [_identity_of(item) for item in page.items]
    changed = [
        SentObject(identity, served, item)
        for identity, item in zip(identities, page.items, strict=True)
        if not is_known(identity)
    ]
    return ChangedPage(identities, changed, page.resource_version, len(raw)), position


@lru_cache(maxsize=16)
def _opening_of(served: Kind) -> bytes:
    """Return the beginning of an object's text, up to its first own field."""
    return orjson.dumps({"apiVersion": served.api_version, "kind": served.kind})[:-1] + b","


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
