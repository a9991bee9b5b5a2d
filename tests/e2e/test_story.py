"""From a form click to a running pod with live GPU state, as a researcher sees it."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from dra_console.kube.kinds import PODS, RESOURCE_CLAIM_TEMPLATES, RESOURCE_CLAIMS
from tests.e2e.asking import (
    ask_by_keyboard,
    follow_first_suggestion,
    suggested_claim,
    wait_until_allocated,
)
from tests.e2e.demos import Demo, eventually
from tests.e2e.pages import Visitor, browser

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

NAMESPACE = "team-research"


@pytest.fixture(scope="module")
def running(chromium: str) -> Iterator[Browser]:
    with browser(chromium) as one:
        yield one


@pytest.fixture
def researcher(running: Browser, demo: Demo) -> Visitor:
    visitor = Visitor(running, demo)
    visitor.log_in("researcher")
    return visitor


def test_a_researcher_gets_a_gpu_uses_it_and_gives_it_back(
    researcher: Visitor, running: Browser, demo: Demo
) -> None:
    page = researcher.page

    _create_template(page, demo, "walk-one-gpu")
    page.get_by_role("button", name="Start a test pod").click()
    page.wait_for_url(re.compile(r"/pods/"))
    pod_name = page.url.rstrip("/").rpartition("/")[2]
    page.get_by_role("link", name=re.compile(f"{pod_name}-gpu-")).click()

    stages = page.locator(".stage")
    for number in range(5):
        expect(stages.nth(number)).to_have_attribute("data-reached", "true")
    cdi_id = page.get_by_text(re.compile(r"k8s\.gpu\.nvidia\.com/claim=")).inner_text()
    claim = _claim_of(demo, pod_name)
    result = claim["status"]["allocation"]["devices"]["results"][0]
    assert cdi_id == f"k8s.gpu.nvidia.com/claim={claim['metadata']['uid']}-{result['device']}"
    _assert_cdi_file_names_the_device(demo, claim, result)
    _assert_utilisation_moves(page)
    assert researcher.violations() == []
    researcher.shoot("claim-running")

    board = Visitor(running, demo)
    board.log_in("admin")
    board.open("devices/")
    board.wait_until_live()
    tile = board.page.locator(
        f"[data-device-key='gpu.nvidia.com/{result['pool']}/{result['device']}']"
    )
    expect(tile).to_have_attribute("data-look", "held")
    page.get_by_role("button", name="Delete the pod").click()
    # Without a reload: the board's own page is never navigated.
    expect(tile).to_have_attribute("data-look", "free")
    assert researcher.complaints == []
    assert board.complaints == []


def test_a_claim_that_cannot_fit_says_why_with_numbers_that_add_up(
    researcher: Visitor, demo: Demo
) -> None:
    claim: Any = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "wants-b200", "namespace": NAMESPACE},
        "spec": {"devices": {"requests": [_b200_request()]}},
    }
    demo.client().create(RESOURCE_CLAIMS, claim, namespace=NAMESPACE)

    researcher.open(f"claims/{NAMESPACE}/wants-b200/")
    eventually(
        lambda: researcher.page.reload() and researcher.page.locator(".funnel").count(),
        what="an attempt was made",
    )

    page = researcher.page
    expect(page.locator(".notice-headline")).to_contain_text("matches the selectors")
    considered = int(page.locator(".funnel-left").first.inner_text())
    lost = [int(text.split()[0]) for text in page.locator(".funnel-lost").all_inner_texts()[1:]]
    left = int(page.locator(".funnel-left").last.inner_text())
    assert considered == sum(lost) + left == 83
    explained = json.loads(
        _get(researcher, demo, f"api/v1/resourceclaims/{NAMESPACE}/wants-b200/explain/")
    )
    devices = [device for node in explained["nodes"] for device in node["devices"]]
    assert len(devices) == considered
    assert all(device["verdict"] for device in devices)
    assert researcher.violations() == []
    researcher.shoot("claim-pending")


def test_what_if_is_asked_by_keyboard_and_what_it_suggests_does_fit(
    researcher: Visitor, demo: Demo
) -> None:
    claim: Any = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "asks-b200", "namespace": NAMESPACE},
        "spec": {"devices": {"requests": [_b200_request()]}},
    }
    demo.client().create(RESOURCE_CLAIMS, claim, namespace=NAMESPACE)
    page, label = researcher.page, f"Claim {NAMESPACE}/asks-b200"
    researcher.open("whatif/")
    eventually(
        lambda: page.reload() and page.locator("option", has_text=label).count(),
        what="the claim is offered",
    )
    found = {"form": researcher.violations()}

    ask_by_keyboard(page, label)

    expect(page.get_by_text("One more, the first, does not fit")).to_be_visible()
    found["answer"] = researcher.violations()
    follow_first_suggestion(page)
    fits = page.get_by_label("How many fit").locator(".figure-value b").first
    assert int(fits.inner_text()) > 0
    wait_until_allocated(demo, suggested_claim(researcher, demo, "as-suggested"))
    assert {where: serious for where, serious in found.items() if serious} == {}
    assert researcher.complaints == []
    demo.client().delete(RESOURCE_CLAIMS, "as-suggested", namespace=NAMESPACE)


def test_what_if_answers_without_javascript(running: Browser, demo: Demo) -> None:
    visitor = Visitor(running, demo, runs_scripts=False)
    visitor.log_in("admin")
    visitor.open("whatif/")

    visitor.page.get_by_label("Node", exact=True).fill("gpu-01")
    visitor.page.get_by_role("button", name="Drain it").click()

    expect(visitor.page.get_by_label("Changes", exact=True)).to_contain_text("gpu-01")
    expect(visitor.page.get_by_role("heading", name=re.compile("^Who is hit"))).to_be_visible()


@pytest.mark.parametrize(
    ("field", "typed", "words"),
    [
        (
            "extra_selector",
            "device.attributes[“gpu.nvidia.com”].type == “gpu”",
            r"column.*plain quotes|plain quotes.*column",
        ),
        (
            "extra_selector",
            'device.attributes["gpu.nvidia.com"].prodName == "x"',
            r"0 of \d+ devices",
        ),
        ("count", "33", r"32"),
    ],
    ids=["typographic-quotes", "unknown-attribute", "33-devices"],
)
def test_the_form_refuses_with_a_message_of_its_own_at_the_field(
    researcher: Visitor, field: str, typed: str, words: str
) -> None:
    page = researcher.page
    researcher.open("request/")

    page.fill(f"[name={field}]", typed)

    message = page.locator(f"#errors-{field} .field-error")
    expect(message).to_contain_text(re.compile(words, re.IGNORECASE | re.DOTALL))
    page.get_by_role("button", name="Create template").click()
    expect(message).to_be_visible()
    assert "/request/" in page.url


def test_a_class_that_does_not_exist_is_named_with_those_that_do(researcher: Visitor) -> None:
    page = researcher.page
    researcher.open("request/")

    yaml = page.locator("#id_yaml").input_value()
    page.fill("#id_yaml", yaml.replace("gpu.nvidia.com", "gpu.example.com"))

    message = page.locator("#errors-device_class_name .field-error")
    expect(message).to_contain_text("gpu.example.com")
    expect(message).to_contain_text("mig.nvidia.com")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_each_page_has_no_serious_violation_and_breaks_no_policy(
    running: Browser, demo: Demo, width: int, dark: bool
) -> None:
    visitor = Visitor(running, demo, width=width, dark=dark)
    visitor.open("login/")
    found = {"login": visitor.violations()}
    visitor.log_in("admin")
    for name in ("", "devices/", "devices/?view=table", "nodes/", "nodes/gpu-01/", "claims/"):
        visitor.open(name)
        visitor.wait_until_live()
        found[name] = visitor.violations()
        visitor.shoot(f"{_picture_of(name)}-{width}-{'dark' if dark else 'light'}")
    detail_pages = ("clusters/", "clusters/demo/", "devices/gpu.nvidia.com/gpu-01/gpu-0/")
    scheduling = ("scheduling/", "scheduling/?view=queue", "scheduling/?view=log", "conflicts/")
    for name in ("templates/", "request/", *scheduling, *detail_pages):
        visitor.open(name)
        found[name] = visitor.violations()
        visitor.shoot(f"{_picture_of(name)}-{width}-{'dark' if dark else 'light'}")

    assert {name: serious for name, serious in found.items() if serious} == {}
    assert visitor.complaints == []


def _picture_of(address: str) -> str:
    return address.replace("/?view=", "-").strip("/").replace("/", "-") or "overview"


def _create_template(page: Page, demo: Demo, name: str) -> None:
    page.goto(f"{demo.url}request/")
    page.fill("[name=name]", name)
    page.get_by_label("H100").check()
    expect(page.locator("#id_yaml")).to_have_value(re.compile("H100"))
    expect(page.get_by_text("fits now")).to_be_visible()
    page.get_by_role("button", name="Create template").click()
    page.wait_for_url(re.compile(rf"/templates/{NAMESPACE}/{name}/"))
    eventually(
        lambda: demo.client().get(RESOURCE_CLAIM_TEMPLATES, name, namespace=NAMESPACE),
        what="the template exists",
    )


def _claim_of(demo: Demo, pod_name: str) -> Any:
    pod: Any = demo.client().get(PODS, pod_name, namespace=NAMESPACE)
    name = pod["status"]["resourceClaimStatuses"][0]["resourceClaimName"]
    return demo.client().get(RESOURCE_CLAIMS, name, namespace=NAMESPACE)


def _assert_cdi_file_names_the_device(demo: Demo, claim: Any, result: Any) -> None:
    uid = claim["metadata"]["uid"]
    files = list((demo.layout.nodes / result["pool"] / "cdi").glob(f"*{uid}*.json"))
    assert len(files) == 1
    written = json.loads(files[0].read_text())
    assert written["kind"] == "k8s.gpu.nvidia.com/claim"
    assert [device["name"] for device in written["devices"]] == [f"{uid}-{result['device']}"]


def _assert_utilisation_moves(page: Page) -> None:
    reading = page.locator(".tile [data-reading=utilisation_percent]").first
    page.wait_for_selector('html[data-live="live"]')
    before = reading.inner_text()
    expect(reading).not_to_have_text(before)


def _get(visitor: Visitor, demo: Demo, path: str) -> str:
    return visitor.page.request.get(demo.url + path).text()


def _b200_request() -> dict[str, Any]:
    expression = 'device.attributes["gpu.nvidia.com"].productName.contains("B200")'
    exactly = {
        "deviceClassName": "gpu.nvidia.com",
        "selectors": [{"cel": {"expression": expression}}],
    }
    return {"name": "gpu", "exactly": exactly}
