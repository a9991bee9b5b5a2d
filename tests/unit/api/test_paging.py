from http import HTTPStatus

import pytest
import time_machine
from django.core import signing
from hypothesis import given
from hypothesis import strategies as st

from dra_console.api.paging import CURSOR_LIFE_SECONDS, Page, Paging, page_of_items
from dra_console.api.problems import Problem

NAMES = ["a", "b", "c", "d", "e"]


def page(names: list[str], *, limit: int = 2, cursor: str = "", reader: str = "ana") -> Page:
    return page_of_items(
        names,
        key=lambda name: (name,),
        paging=Paging(limit=limit, cursor=cursor, binding=("names", reader)),
        shape=str.upper,
    )


def test_a_page_says_where_the_next_begins_and_how_much_is_left() -> None:
    envelope = page(NAMES).envelope()

    assert envelope["items"] == ["A", "B"]
    metadata = envelope["metadata"]
    assert isinstance(metadata, dict)
    assert metadata["remainingItemCount"] == 3
    assert metadata["continue"]


def test_the_last_page_says_nothing_of_a_next() -> None:
    assert page(NAMES, limit=5).envelope()["metadata"] == {}


def test_what_comes_and_goes_between_pages_neither_repeats_nor_hides_others() -> None:
    first = page(NAMES)

    second = page(["a", "aa", "c", "d", "e"], cursor=first.next_cursor)

    assert second.items == ["C", "D"]


@given(names=st.lists(st.text(min_size=1), unique=True), limit=st.integers(1, 5))
def test_pages_together_are_the_list(names: list[str], limit: int) -> None:
    names.sort()
    seen: list[object] = []
    cursor = ""

    while True:
        one = page(names, limit=limit, cursor=cursor)
        seen += one.items
        cursor = one.next_cursor
        if not cursor:
            break

    assert seen == [name.upper() for name in names]


@pytest.mark.parametrize(
    "cursor",
    ["nonsense", "a:b:c", signing.dumps({"for": "x", "after": ["a"]}), "\x00"],
    ids=["words", "colons", "signed-for-another-purpose", "nul"],
)
def test_a_cursor_that_we_did_not_make_is_gone(cursor: str) -> None:
    with pytest.raises(Problem) as refused:
        page(NAMES, cursor=cursor)

    assert refused.value.status == HTTPStatus.GONE


def test_a_cursor_serves_its_own_reader_alone() -> None:
    cursor = page(NAMES, reader="ana").next_cursor

    with pytest.raises(Problem) as refused:
        page(NAMES, cursor=cursor, reader="bo")

    assert refused.value.status == HTTPStatus.GONE


def test_a_cursor_expires() -> None:
    with time_machine.travel(0, tick=False):
        cursor = page(NAMES).next_cursor

    with time_machine.travel(CURSOR_LIFE_SECONDS + 1, tick=False), pytest.raises(Problem):
        page(NAMES, cursor=cursor)
