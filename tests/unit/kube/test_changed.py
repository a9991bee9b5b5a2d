"""Lists that decode only what is not known say the same as lists that decode everything."""

from collections.abc import Callable

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dra_console.allocator.model import Json, JsonObject
from dra_console.kube.changed import ChangedPage, Identity, changed_pages_of
from dra_console.kube.errors import ApiError
from dra_console.kube.kinds import RESOURCE_CLAIMS, Kind
from dra_console.kube.lists import Listed, Selection, pages_of
from dra_console.kube.transport import Request, decode_object

odd: st.SearchStrategy[Json] = st.sampled_from([None, 1, 1.5, "", "x", "ä", [], {}, True])
metadata = st.fixed_dictionaries(
    {}, optional={key: odd | st.text(max_size=3) for key in ("name", "namespace", "uid")}
)
entries = st.one_of(
    odd,
    st.fixed_dictionaries({"metadata": metadata | odd, "spec": odd}),
    st.builds(
        lambda name, version: {
            "metadata": {"name": name, "uid": f"uid-{name}", "resourceVersion": version}
        },
        st.sampled_from(["a", "b", "c"]),
        st.sampled_from(["1", "2"]),
    ),
)


def pages(answers: list[bytes], *, is_known: Callable[[Identity], bool]) -> list[ChangedPage]:
    remaining = iter(answers)

    def fetch(kind: Kind, request_in: Callable[[Kind], Request]) -> tuple[bytes, Kind]:
        request_in(kind)
        return next(remaining), kind

    return list(changed_pages_of(fetch, RESOURCE_CLAIMS, is_known=is_known))


def whole(answers: list[bytes]) -> list[Listed]:
    remaining = iter(answers)

    def ask(kind: Kind, request_in: Callable[[Kind], Request]) -> tuple[dict[str, Json], Kind]:
        request_in(kind)
        return decode_object(next(remaining)), kind

    return list(pages_of(ask, Selection(RESOURCE_CLAIMS)))


def a_page(*items: Json, position: str = "") -> bytes:
    listed = {"metadata": {"resourceVersion": "7", "continue": position}, "items": [*items]}
    return orjson.dumps(listed)


@given(items=st.lists(entries, max_size=6))
def test_a_list_of_nothing_known_is_the_whole_list(items: list[Json]) -> None:
    (page,) = pages([a_page(*items)], is_known=lambda _: False)
    (wanted,) = whole([a_page(*items)])

    assert page.items == wanted.items
    assert page.resource_version == wanted.resource_version
    assert len(page.identities) == len(wanted.items)


def test_what_is_known_in_its_version_is_not_decoded() -> None:
    first: JsonObject = {
        "metadata": {"name": "a", "uid": "u", "resourceVersion": "1", "namespace": "lab"}
    }
    second: JsonObject = {
        "metadata": {"name": "b", "uid": "v", "resourceVersion": "2", "namespace": "lab"}
    }
    known = Identity("lab", "a", "u", "1")

    found = pages([a_page(first, position="x"), a_page(second)], is_known=known.__eq__)

    assert [[item["metadata"] for item in page.items] for page in found] == [
        [],
        [second["metadata"]],
    ]
    assert [page.identities for page in found] == [[known], [Identity("lab", "b", "v", "2")]]


def test_objects_come_with_what_a_watch_says_of_them() -> None:
    (page,) = pages([a_page({"metadata": {"name": "a"}})], is_known=lambda _: False)

    (item,) = page.items
    assert (item["apiVersion"], item["kind"]) == ("resource.k8s.io/v1", "ResourceClaim")


def test_nesting_of_thousands_of_levels_spoils_no_list() -> None:
    raw = a_page({"metadata": {"name": "a"}, "deep": "BAD"}, {"metadata": {}})

    (page,) = pages([raw.replace(b'"BAD"', b"[" * 4900 + b"]" * 4900)], is_known=lambda _: False)

    assert [item["metadata"] for item in page.items] == [{"name": "a"}, {}]


def test_bytes_that_are_no_characters_spoil_no_list() -> None:
    raw = a_page({"metadata": {"name": "a", "annotations": {"x": "BAD"}}}, {"metadata": {}})

    (page,) = pages([raw.replace(b"BAD", b"\xff")], is_known=lambda _: False)

    assert page.items[0]["metadata"] == {"name": "a", "annotations": {"x": "\ufffd"}}
    assert len(page.identities) == len(page.items) == 2


@pytest.mark.parametrize("answer", [b"", b"[]", b"{}", b'{"metadata": {}, "items": []}'])
def test_what_is_no_list_is_an_error(answer: bytes) -> None:
    with pytest.raises(ApiError):
        pages([answer], is_known=lambda _: False)
