"""What somebody does on the what-if page, by the keyboard, and then to the cluster."""

import copy
import json
from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import Page, expect

from dra_console.kube.kinds import RESOURCE_CLAIMS
from dra_console.scheduling.names import RESERVE_AHEAD_LABEL
from dra_console.scheduling.whatif.patching import patched
from tests.e2e.demos import Demo, eventually
from tests.e2e.pages import Visitor

MOST_OPTIONS = 60


def ask_by_keyboard(page: Page, pod: str) -> None:
    """Choose a pod by its label with the arrow keys, and send the form."""
    choice = page.get_by_label("A pod with one claim of")
    choice.focus()
    for _ in range(MOST_OPTIONS):
        if choice.evaluate("select => select.selectedOptions[0].label") == pod:
            break
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="How many fit?")).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url("**/whatif/?scenario=*")


def follow_first_suggestion(page: Page) -> None:
    """Try what the answer suggests first, by the keyboard."""
    before = page.url
    page.get_by_role("link", name="Try it here").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_url(lambda url: url != before)


def suggested_claim(visitor: Visitor, demo: Demo, name: str) -> dict[str, Any]:
    """Write the claim that the page asks about with the suggestion, to be reserved ahead."""
    token = visitor.page.url.partition("scenario=")[2]
    address = f"{demo.url}api/v1/whatif/?{urlencode({'scenario': token})}"
    told = json.loads(visitor.page.request.get(address).text())
    [source] = told["scenario"]["pod"]["claims"]
    namespace, asked = source["claim"]["namespace"], source["claim"]["name"]
    claim: Any = demo.client().get(RESOURCE_CLAIMS, asked, namespace=namespace)
    spec = patched({"spec": copy.deepcopy(claim["spec"])}, source["patch"], path="patch")["spec"]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {RESERVE_AHEAD_LABEL: "true"},
        },
        "spec": spec,
    }


def wait_until_allocated(demo: Demo, claim: dict[str, Any]) -> None:
    """Create a claim and wait for its devices."""
    names = claim["metadata"]
    demo.client().create(RESOURCE_CLAIMS, claim, namespace=names["namespace"])
    eventually(
        lambda: (
            demo.client()
            .get(RESOURCE_CLAIMS, names["name"], namespace=names["namespace"])
            .get("status", {})  # type: ignore[union-attr]  # JSON
            .get("allocation")
        ),
        what="what was suggested fits",
    )
