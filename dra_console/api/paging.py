"""Pages of a list: `limit`, an opaque `continue`, and Kubernetes' List envelope.

Inside is a keyset: the cursor holds the sort key of the last object sent, so a page costs
the same wherever it lies, and objects that come and go between two pages neither repeat nor
hide others. It is signed, dated and bound to list, filters and reader: one that is too old,
changed, or made for something else is answered with 410, as Kubernetes does, and the
client lists again.
"""

import hashlib
import json
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import TypeVar

from django.core import signing
from django.db.models import Model, Q, QuerySet

from dra_console.allocator.model import Json, JsonObject
from dra_console.api.problems import Problem

PAGE_CAP = 500
"""Larger limits are lowered to this; `metadata.continue` tells that there is more."""

CURSOR_LIFE_SECONDS = 3600
_SALT = "dra_console.api.paging"

Row = TypeVar("Row", bound=Model)
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Paging:
    """Which page is wanted, of which list."""

    limit: int
    cursor: str
    """What `metadata.continue` of the page before said; empty for the first page."""

    binding: tuple[str, ...]
    """Names the list, its filters and its reader; a cursor serves this list alone."""


@dataclass(frozen=True, slots=True)
class Page:
    """One page, and how to go on: `next_cursor` is empty on the last one."""

    items: Sequence[Json]
    next_cursor: str
    remaining: int

    def envelope(self) -> JsonObject:
        """Shape the page as Kubernetes shapes lists."""
        metadata: JsonObject = {}
        if self.next_cursor:
            metadata = {"continue": self.next_cursor, "remainingItemCount": self.remaining}
        return {"metadata": metadata, "items": list(self.items)}


def page_of_rows(
    rows: QuerySet[Row],
    *,
    columns: Sequence[str],
    paging: Paging,
    shape: Callable[[Row], Json],
) -> Page:
    """Cut one page out of `rows` in two queries; `columns` together are unique and never null.

    A column with `-` before it runs backwards.
    """
    if paging.cursor:
        rows = rows.filter(_after(columns, _last_key(paging)))
    found = rows.count()
    page = list(rows.order_by(*columns)[: paging.limit])
    last = (
        tuple(str(getattr(page[-1], column.removeprefix("-"))) for column in columns)
        if page
        else ()
    )
    return _page([shape(row) for row in page], last=last, found=found, paging=paging)


def page_of_items(
    items: Sequence[Item],
    *,
    key: Callable[[Item], tuple[str, ...]],
    paging: Paging,
    shape: Callable[[Item], Json],
) -> Page:
    """Cut one page out of `items`, which are sorted by `key`."""
    if paging.cursor:
        items = items[bisect_right(items, _last_key(paging), key=key) :]
    page = items[: paging.limit]
    last = key(page[-1]) if page else ()
    return _page([shape(item) for item in page], last=last, found=len(items), paging=paging)


def _page(shaped: Sequence[Json], *, last: tuple[str, ...], found: int, paging: Paging) -> Page:
    remaining = found - len(shaped)
    cursor = ""
    if remaining > 0:
        cursor = signing.dumps({"for": _digest(paging.binding), "after": list(last)}, salt=_SALT)
    return Page(items=shaped, next_cursor=cursor, remaining=remaining)


def _last_key(paging: Paging) -> tuple[str, ...]:
    try:
        held = signing.loads(paging.cursor, salt=_SALT, max_age=CURSOR_LIFE_SECONDS)
    except signing.BadSignature:
        held = {}
    if held.get("for") != _digest(paging.binding):
        raise Problem(
            HTTPStatus.GONE,
            "expired-continue",
            "continue: expired, or made for another list; list again without it.",
            errors=[{"parameter": "continue", "detail": "expired, or made for another list"}],
        )
    return tuple(held["after"])


def _digest(binding: tuple[str, ...]) -> str:
    return hashlib.sha256(json.dumps(binding).encode()).hexdigest()[:16]


def _after(columns: Sequence[str], last: tuple[str, ...]) -> Q:
    """Select rows behind `last`: (a, b) > (x, y) spelled as a > x or (a = x and b > y)."""
    after, equal = Q(), Q()
    for column, value in zip(columns, last, strict=True):
        name = column.removeprefix("-")
        after |= equal & Q((f"{name}__{'lt' if column.startswith('-') else 'gt'}", value))
        equal &= Q((name, value))
    return after
