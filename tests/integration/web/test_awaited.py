"""Whoever has made something is shown it, though the mirror has not seen it yet."""

import re

import pytest
from django.test import Client

from dra_console.mirror.models import Cluster
from tests.builders.mirrored import mirror
from tests.builders.objects import a_template

pytestmark = [pytest.mark.django_db]

ADDRESS = "/templates/team-research/train/"


def refreshed(client: Client, page: str) -> dict[str, str]:
    """Ask for what the page asks for when it is refreshed; return the headers of the answer."""
    found = re.search(r'id="template-body".*?hx-get="([^"]+)"', page, re.DOTALL)
    assert found is not None
    answer = client.get(found[1], headers={"HX-Request": "true"})
    assert answer.status_code == 200
    return dict(answer.headers)


def test_template_that_is_not_mirrored_yet_is_waited_for_and_then_shown(
    cluster: Cluster, as_researcher: Client
) -> None:
    page = as_researcher.get(ADDRESS)

    assert page.status_code == 200
    assert "has not seen this template yet" in page.content.decode()
    assert "HX-Redirect" not in refreshed(as_researcher, page.content.decode())
    mirror(cluster, a_template("train"))
    assert refreshed(as_researcher, page.content.decode())["HX-Redirect"] == ADDRESS
    whole = as_researcher.get(ADDRESS).content.decode()
    assert "Start a test pod" in whole
    assert "HX-Redirect" not in refreshed(as_researcher, whole)


def test_nobody_waits_for_a_template_that_they_may_not_see(
    cluster: Cluster,  # noqa: ARG001 - only has to be there
    as_researcher: Client,
) -> None:
    assert as_researcher.get("/templates/team-vision/train/").status_code == 404
