"""Read objects in compiled code, straight from the text that the API server sent.

The text itself becomes the column, neither decoded nor written again. What every object has
is read here; the shapes of the kinds are beside what is made of them (`new_claims`,
`new_slices`). What does not fit its shape is left to `reconcile`, which takes anything.
"""

from datetime import datetime
from typing import Annotated, Final, TypeAlias

import msgspec
import orjson

from dra_console.kube.changed import SentObject
from dra_console.sync import bulk
from dra_console.sync.history import Happening
from dra_console.sync.objects import storable
from dra_console.sync.reading import time_of

ESCAPE: Final = b"\\u"
FOREIGN: Final = b'"opaque"'
"""Where JSON begins that the API server passes on as somebody wrote it."""

NO_FIELDS: Final = msgspec.Raw(b"{}")
NO_ENTRIES: Final = msgspec.Raw(b"[]")

Stated: TypeAlias = Annotated[str, msgspec.Meta(min_length=1)]


class Owner(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """An owner reference."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""


class Annotations(
    msgspec.Struct,
    frozen=True,
    gc=False,
    rename={"pod_claim_name": "resource.kubernetes.io/pod-claim-name"},
):
    """The one annotation that is read."""

    pod_claim_name: str = ""


class SentMetadata(msgspec.Struct, gc=False, rename="camel"):
    """The part of `metadata` that rows are made of."""

    name: Stated
    uid: Stated
    resource_version: Stated
    namespace: str = ""
    creation_timestamp: str = ""
    deletion_timestamp: str = ""
    owner_references: list[Owner] = []
    annotations: Annotations = Annotations()


def plain_text(sent: SentObject) -> bytes | None:
    """Return an object's text as the mirror's other way would write it; `None`: go that way.

    What came from people or may be written in more than one way is decoded and written anew.
    """
    text = sent.text()
    if text is None or (ESCAPE not in text and FOREIGN not in text):
        return text
    whole = sent.read()
    return orjson.dumps(whole) if storable(whole) is whole else None


def common_values(
    cluster_id: int, metadata: SentMetadata, text: bytes, *, seen_at: datetime
) -> bulk.Values:
    """Return what a row of each kind begins with, in the order of `MirroredObject`."""
    return (
        cluster_id,
        metadata.uid,
        metadata.namespace,
        metadata.name,
        metadata.resource_version,
        time_of(metadata.creation_timestamp) or seen_at,
        time_of(metadata.deletion_timestamp) if metadata.deletion_timestamp else None,
        msgspec.Raw(text),
    )


def first_happening(metadata: SentMetadata) -> Happening:
    """Return how the history of every object begins."""
    return "created", {"created_at": metadata.creation_timestamp}


def last_happening(metadata: SentMetadata) -> list[Happening]:
    """Return the wish to delete it, which history names last, if there is one."""
    asked_at = metadata.deletion_timestamp
    return [("deletion requested", {"requested_at": asked_at})] if asked_at else []
