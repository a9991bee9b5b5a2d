"""A second cluster beside the demo's: choose it by keyboard, and see that pages stay in it."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from dra_console.allocator.model import JsonObject
from dra_console.kube.kinds import NAMESPACES, RESOURCE_CLAIM_TEMPLATES
from tests.e2e.demos import Demo
from tests.e2e.pages import Visitor, browser
from tests.integration.served_cluster import served_cluster

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

NAMESPACE = "team-annex"


@pytest.fixture
def annex(demo: Demo, tmp_path: Path) -> Iterator[None]:
    """A cluster with one template, followed by the demo's own worker until the test ends."""
    with served_cluster(tmp_path) as served:
        served.grant("system:admin", "*")
        served.grant("group:gpu-admins", "*")
        request: JsonObject = {"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com"}}
        template: JsonObject = {
            "metadata": {"name": "far-away", "namespace": NAMESPACE},
            "spec": {"spec": {"devices": {"requests": [request]}}},
        }
        served.client.create(NAMESPACES, {"metadata": {"name": NAMESPACE}})
        served.client.create(RESOURCE_CLAIM_TEMPLATES, template, namespace=NAMESPACE)
        demo.manage("cluster", "add", "annex", "--kubeconfig", str(served.kubeconfig))
        try:
            yield
        finally:
            demo.manage("cluster", "remove", "annex")


@pytest.mark.usefixtures("annex")
def test_a_cluster_is_chosen_by_keyboard_and_kept_in_every_address(
    chromium: str, demo: Demo
) -> None:
    with browser(chromium) as running:
        visitor = Visitor(running, demo)
        page = visitor.page
        _log_in(visitor, demo)

        visitor.open("in/demo/templates/")
        visitor.wait_until_live()
        page.locator(".top-choice > summary").focus()
        for key in ("Enter", "Tab", "Enter"):
            page.keyboard.press(key)

        page.wait_for_url(re.compile("/in/annex/templates/$"))
        page.get_by_role("link", name="far-away").click()
        page.wait_for_url(re.compile(f"/in/annex/templates/{NAMESPACE}/far-away/$"))
        page.locator(".rail-entry[data-key=l]").click()
        expect(page.locator("#clusters-body tbody tr")).to_have_count(2)
        page.get_by_role("link", name="annex", exact=True).click()
        kinds = page.locator(".kinds-table tbody tr")
        # Without a reload: the page asks again by itself.
        expect(kinds.filter(has_text="following")).to_have_count(9)
        assert visitor.violations() == []

        small = Visitor(running, demo, width=390, dark=True)
        _log_in(small, demo)
        small.page.locator(".top-choice > summary").click()
        assert small.violations() == []
        small.open("clusters/annex/")
        assert small.violations() == []
        assert visitor.complaints + small.complaints == []


def _log_in(visitor: Visitor, demo: Demo) -> None:
    account = demo.summary["users"]["admin"]
    visitor.open("login/")
    visitor.page.fill("input[name=username]", account["username"])
    visitor.page.fill("input[name=password]", account["password"])
    visitor.page.click("button[type=submit]")
    # The first one by name, as nothing was chosen yet.
    visitor.page.wait_for_url(re.compile("/in/annex/$"))
