"""The what-if page: built by plain forms, all in the address, and nobody else's names on it."""

import re
from html import unescape
from http import HTTPStatus

import pytest
from django.test import Client

from dra_console.mirror.models import Cluster
from tests.builders.attempts import try_all
from tests.builders.mirrored import mirror
from tests.builders.objects import a_claim, a_request

ADDRESS = "/whatif/"
FOREIGN = ("secret", "/hidden", "team-vision", "private")

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("cluster")]


def after(client: Client, address: str = ADDRESS, **fields: str) -> str:
    """Send a form as a browser does, and follow it to the page of the new scenario."""
    scenario = re.search(r"scenario=([^&]*)", address)
    answer = client.get(ADDRESS, {"scenario": scenario[1] if scenario else "", **fields})
    assert answer.status_code == HTTPStatus.FOUND, answer.content.decode()
    return answer.headers["Location"]


def text_of(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == HTTPStatus.OK
    html = re.sub(r"<[^>]+>", " ", answer.content.decode())
    return re.sub(r"\s+", " ", unescape(html))


def test_the_page_starts_with_questions_about_this_cluster(as_admin: Client) -> None:
    page = as_admin.get(ADDRESS).content.decode()

    examples = re.findall(r'class="card-choice" href="([^"]*)"', page)
    assert len(examples) == 3
    assert "with one more node like gpu-01?" in page
    for address in examples:
        assert "Computed on snapshot" in text_of(as_admin, unescape(address))


def test_edits_are_added_and_taken_out_by_forms_and_links_alone(as_admin: Client) -> None:
    pod = after(as_admin, act="pod", pod="template team-research one-gpu")
    more = after(as_admin, pod, act="addNodes", node="gpu-02", count="3")
    both = after(as_admin, more, act="drainNode", node="gpu-01")

    assert "Fit now 2 pods of template team-research/one-gpu" in text_of(as_admin, pod)
    assert "8 pods of template team-research/one-gpu 6 more than today" in text_of(as_admin, more)
    text = text_of(as_admin, both)
    assert "Add 3 nodes like gpu-02" in text
    assert "Drain node gpu-01" in text
    assert "2 claims on them: 2 would lose their devices" in text
    page = as_admin.get(both).content.decode()
    [without, _] = re.findall(r'line-end"\s+href="([^"]*)"', page)
    assert "Drain node gpu-01" in text_of(as_admin, unescape(without))
    assert "Add 3 nodes" not in text_of(as_admin, unescape(without))


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"act": "addNodes", "node": "gpu-01", "count": "many"}, "count: expected a number"),
        ({"act": "taint", "key": "k", "effect": "NoExecute"}, "none would be every device"),
        ({"act": "explode"}, "act: expected one of"),
        ({"act": "pod", "pod": "secret"}, "pod: expected a template or a claim"),
    ],
)
def test_a_form_that_cannot_be_read_says_which_field(
    as_admin: Client, fields: dict[str, str], words: str
) -> None:
    answer = as_admin.get(ADDRESS, fields)

    assert answer.status_code == HTTPStatus.OK
    assert words in unescape(answer.content.decode())
    assert 'role="alert"' in answer.content.decode()


def test_an_address_that_was_cut_off_says_so(as_admin: Client) -> None:
    assert "the address was cut off or changed" in text_of(as_admin, f"{ADDRESS}?scenario=bm9uc")


def test_other_namespaces_are_counted_and_not_named(as_researcher: Client) -> None:
    drained = after(as_researcher, act="drainNode", node="gpu-01")

    text = text_of(as_researcher, drained)
    assert "2 claims on them" in text
    assert "other namespaces 1 claim" in text
    assert "team-research/held" in text
    for address in (ADDRESS, drained):
        page = as_researcher.get(address).content.decode()
        assert [name for name in FOREIGN if name in page] == []


def test_a_foreign_name_in_an_address_tells_nothing(as_researcher: Client) -> None:
    told = []
    for name in ("secret", "missing"):
        text = text_of(
            as_researcher, after(as_researcher, act="freeClaim", claim=f"team-vision/{name}")
        )
        assert "Computed on snapshot" not in text
        told += re.findall(r"This cannot be asked (.*?) Changes", text.replace(name, "X"))

    assert told[0].startswith("edits[0]: there is no claim team-vision/X, or you may not see it")
    assert told[0] == told[1]


def test_whoever_may_not_list_slices_is_refused(as_nobody: Client) -> None:
    assert as_nobody.get(ADDRESS).status_code == HTTPStatus.FORBIDDEN


def test_what_a_claims_page_suggests_fits_when_it_is_opened_here(
    as_admin: Client, cluster: Cluster
) -> None:
    wide = a_claim("wide", namespace="team-research", requests=[a_request(count=3)])
    mirror(cluster, wide)
    try_all(cluster)

    page = as_admin.get("/claims/team-research/wide/").content.decode()
    links = re.findall(r'href="(/whatif/\?scenario=[^"]*)">Open in what-if', page)

    assert links
    for address in links:
        assert re.search(r"Fit (now|then) [1-9]", text_of(as_admin, unescape(address)))


def test_a_state_that_moved_on_is_said_to_have(as_admin: Client, cluster: Cluster) -> None:
    pod = after(as_admin, act="pod", pod="template team-research one-gpu")
    page = as_admin.get(pod).content.decode()
    [pinned] = re.findall(r'<a href="([^"]*)">Address of this answer', page)
    mirror(cluster, a_claim("another", namespace="team-research"))

    text = text_of(as_admin, unescape(pinned))

    assert "the state has moved since" in text
    assert "the state has moved since" not in text_of(as_admin, pod)
