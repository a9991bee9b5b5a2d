"""Lists, page by page, on raw JSON."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from dra_console.allocator.model import JsonObject
from dra_console.kube.errors import ApiError
from dra_console.kube.kinds import Kind
from dra_console.kube.shapes import read_as_v1
from dra_console.kube.transport import Request

PAGE_SIZE: Final = 500
"""As client-go asks for; keeps one answer at a few megabytes."""


@dataclass(frozen=True, slots=True)
class Listed:
    """Objects of a kind at one resource version, in the API server's order."""

    items: list[JsonObject]
    resource_version: str


@dataclass(frozen=True, slots=True)
class Selection:
    """Which objects of a kind a list is of."""

    kind: Kind
    namespace: str | None = None
    label_selector: str = ""
    field_selector: str = ""

    def query(self) -> dict[str, str]:
        """Spell the selectors as query parameters."""
        query = {"labelSelector": self.label_selector, "fieldSelector": self.field_selector}
        return {name: selector for name, selector in query.items() if selector}


Ask = Callable[[Kind, Callable[[Kind], Request]], tuple[JsonObject, Kind]]
"""Sends a request in the version that is served, and returns the answer and that version."""


def pages_of(ask: Ask, selection: Selection) -> Iterator[Listed]:
    """Read the objects page by page; every page is of the same resource version.

    Raises:
        ExpiredError: the server forgot that version in mid-list; begin again.

    """
    query = {"limit": str(PAGE_SIZE), **selection.query()}
    while True:
        page, position = _page(ask, selection, query)
        yield page
        if not position:
            return
        query["continue"] = position


def whole_list(ask: Ask, selection: Selection) -> Listed:
    """Read the objects in one answer, however large; no version can be forgotten in it."""
    page, _ = _page(ask, selection, selection.query())
    return page


def _page(ask: Ask, selection: Selection, query: dict[str, str]) -> tuple[Listed, str]:
    """Return the page and where the next one begins; empty after the last.

    A list's items carry no `apiVersion` and `kind`, a watch's objects do: both leave this
    package alike.
    """
    answer, served = ask(
        selection.kind,
        lambda served: Request(
            "GET", served.path(selection.namespace), query=dict(query), repeats_harmlessly=True
        ),
    )
    return decoded_page(answer, served=served)


def decoded_page(answer: JsonObject, *, served: Kind) -> tuple[Listed, str]:
    """Read a list; the second is where the next page begins, empty after the last.

    Raises:
        ApiError: it is no list.

    """
    items, metadata = answer.get("items"), answer.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(items, list | None):
        raise ApiError(f"{served.plural}: expected a list with metadata and items")
    objects = [listed_as_v1(item, served=served) for item in items or [] if isinstance(item, dict)]
    version, position = metadata.get("resourceVersion"), metadata.get("continue")
    if not isinstance(version, str):
        raise ApiError(f"{served.plural}: metadata.resourceVersion: expected text, got {version!r}")
    return Listed(objects, version), position if isinstance(position, str) else ""


def listed_as_v1(item: JsonObject, *, served: Kind) -> JsonObject:
    """Lift one entry of a list, and say what it is, as a watch does."""
    whole = {"apiVersion": served.api_version, "kind": served.kind, **item}
    return read_as_v1(whole, served=served)
