"""The scripts that bring readings to life, on markup as live.js describes it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, sync_playwright

pytestmark = pytest.mark.e2e

SCRIPTS = Path(__file__).parents[2] / "static" / "js"
MARKUP = """
<div data-device-key="gpu.nvidia.com/gpu-01/gpu-0">
  <span data-reading="utilisation_percent"></span>
  <meter data-reading="memory_percent" max="100" aria-label="Memory"></meter>
  <svg viewBox="0 0 100 4"><rect data-reading="utilisation_percent" height="4"></rect></svg>
  <small data-stale-label hidden></small>
</div>
<p data-device-key="gpu.nvidia.com/gpu-01/new" data-stale="false"></p>
<b data-agent-of="gpu-01"></b>
<utilisation-line data-device-key="gpu.nvidia.com/gpu-01/gpu-0" data-window-seconds="900">
  <svg viewBox="0 0 900 100"><path data-line d=""></path></svg>
</utilisation-line>
"""
TELL = """([percent, seen, stale]) => document.dispatchEvent(new CustomEvent("readings", { detail: {
  topic: "telemetry.1.gpu-01", seq: 1, driver: "gpu.nvidia.com", pool: "gpu-01",
  agent_seen_seconds_ago: seen, sample_seconds_ago: seen,
  devices: { "gpu-0": { utilisation_percent: percent, memory_used_bytes: 40,
    memory_total_bytes: 80, power_milliwatts: null, temperature_celsius: null,
    sm_clock_megahertz: null, stale } },
} }))"""
TILE = "[data-device-key]:not(utilisation-line)"
UNREPORTED = "p[data-device-key]"


@pytest.fixture
def page(chromium: str) -> Iterator[Page]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        opened = browser.new_page()
        opened.clock.install()
        opened.set_content(MARKUP)
        for script in ("device-readings.js", "utilisation-line.js"):
            opened.add_script_tag(content=(SCRIPTS / script).read_text(), type="module")
        opened.wait_for_function("customElements.get('utilisation-line') !== undefined")
        yield opened
        browser.close()


def tell(page: Page, percent: int | None, *, seen: float = 0.4, stale: bool = False) -> None:
    page.evaluate(TELL, [percent, seen, stale])


def test_reading_moves_text_meter_and_bar(page: Page) -> None:
    tell(page, 97)

    assert page.text_content("span") == "97 %"
    assert page.get_attribute("rect", "width") == "97"
    assert page.get_attribute("meter", "value") == "50"
    assert page.get_attribute(TILE, "data-stale") == "false"
    assert page.text_content("b") == "agent 0.4 s"


def test_reading_that_is_not_reported_is_said_so_and_not_drawn_as_zero(page: Page) -> None:
    tell(page, None)

    assert page.text_content("span") == "not reported"
    assert page.get_attribute("span", "data-unknown") == ""
    assert page.get_attribute("rect", "data-unknown") == ""


def test_stale_reading_keeps_its_last_value_and_says_how_old_it_is(page: Page) -> None:
    tell(page, 97, seen=41, stale=True)

    assert page.text_content("span") == "97 %"
    assert page.get_attribute(TILE, "data-stale") == "true"
    assert page.text_content("small") == "stale, last seen 41 s ago"
    assert page.text_content("b") == "stale 41 s"


def test_device_that_was_never_reported_is_unknown_while_its_agent_is_silent(page: Page) -> None:
    tell(page, 97)
    assert page.get_attribute(UNREPORTED, "data-stale") == "false"

    tell(page, 97, seen=41, stale=True)

    assert page.get_attribute(UNREPORTED, "data-stale") == "true"


def test_readings_grow_stale_when_the_socket_is_silent(page: Page) -> None:
    tell(page, 97)
    page.clock.run_for(17_000)

    assert page.get_attribute(TILE, "data-stale") == "true"
    assert page.text_content("small") == "stale, last seen 17 s ago"


def test_line_has_a_gap_where_nothing_was_reported(page: Page) -> None:
    for percent in (90, 91, None, 92, 93):
        tell(page, percent)
        page.clock.run_for(1000)

    path = page.get_attribute("path", "d") or ""
    assert (path.count("M"), path.count("L")) == (2, 2)
