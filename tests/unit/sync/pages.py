"""Pages of a list, as an API server sends them and a window gets them."""

import json
from collections.abc import Sequence

import orjson

from dra_console.allocator.model import Json, JsonObject
from dra_console.kube.changed import ChangedPage, IsKnown, changed_pages_of
from dra_console.kube.kinds import Kind


def nothing_is_known(_: object) -> bool:
    return False


def a_page(
    kind: Kind, objects: Sequence[JsonObject], *, is_known: IsKnown = nothing_is_known
) -> ChangedPage:
    return page_of(kind, text_of(objects), is_known=is_known)


def page_of(kind: Kind, raw: bytes, *, is_known: IsKnown = nothing_is_known) -> ChangedPage:
    (page,) = changed_pages_of(lambda asked, _: (raw, asked), kind, is_known=is_known)
    return page


def text_of(objects: Sequence[JsonObject]) -> bytes:
    """Spell a list as an API server does, whose entries do not say what they are."""
    items: list[Json] = [
        {key: value for key, value in each.items() if key not in {"apiVersion", "kind"}}
        for each in objects
    ]
    listed = {"metadata": {"resourceVersion": "9"}, "items": items}
    try:
        return orjson.dumps(listed)
    except TypeError:
        # Half a surrogate pair, which Python writes as an API server would pass it on.
        return json.dumps(listed, separators=(",", ":")).encode()
