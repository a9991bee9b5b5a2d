"""What a live refresh leaves alone: open details, the keyboard's place, marked text, a click."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, WebSocketRoute, sync_playwright

pytestmark = pytest.mark.e2e

STATIC = Path(__file__).parents[2] / "static"
SITE = "http://console.test"
PART = """
<div id="body" data-topics="claims.1" data-refresh-on="claims.1"
     hx-get="/part" hx-trigger="refresh" hx-swap="outerHTML">
  <i>{count}</i>
  <p>Words that somebody may mark.</p>
  <a href="/first">state {count}</a> <a href="/second">state {count}</a>
  <details id="twin"><summary>As a table</summary>rows</details>
</div>
"""
SCRIPTS = ("live.js", "open-details.js", "keep-focus.js")


class Console:
    """Serves one page whose part counts how often it was asked for, and tells of changes."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self._asked = 0
        self._sockets: list[WebSocketRoute] = []
        page.route(f"{SITE}/**", self._answer)
        page.route_web_socket("ws://console.test/ws/v1/live", self._connect)
        page.goto(f"{SITE}/")
        page.wait_for_selector("html[data-live=live]")

    def _connect(self, socket: WebSocketRoute) -> None:
        self._sockets.append(socket)

    def _answer(self, route: Route) -> None:
        path = route.request.url.removeprefix(SITE)
        if path.startswith("/static/"):
            route.fulfill(path=STATIC / path.removeprefix("/static/"))
        elif path == "/part":
            self._asked += 1
            route.fulfill(content_type="text/html", body=PART.format(count=self._asked))
        else:
            modules = "".join(
                f'<script type="module" src="/static/js/{name}"></script>' for name in SCRIPTS
            )
            htmx = '<script src="/static/vendor/htmx-2.0.11/htmx.min.js"></script>'
            body = f"<!DOCTYPE html><html>{htmx}{modules}<body>{PART.format(count=0)}</body></html>"
            route.fulfill(content_type="text/html", body=body)

    def tell_of_a_change(self) -> None:
        self._sockets[-1].send('{"topic": "claims.1", "changed": true}')

    def wait_for_refreshes(self, count: int) -> None:
        self.page.wait_for_function(
            "count => document.querySelector('i').textContent === String(count)", arg=count
        )
        self.page.wait_for_timeout(100)

    def refreshes(self) -> int:
        return int(self.page.inner_text("i"))


@pytest.fixture
def console(chromium: str) -> Iterator[Console]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield Console(browser.new_page())
        browser.close()


def test_open_details_stay_open(console: Console) -> None:
    console.page.click("summary")

    console.tell_of_a_change()

    console.wait_for_refreshes(1)
    assert console.page.get_attribute("#twin", "open") == ""


def test_link_that_has_the_keyboard_keeps_it_whatever_its_words_become(console: Console) -> None:
    console.page.focus("[href='/second']")

    console.tell_of_a_change()

    console.wait_for_refreshes(1)
    assert console.page.evaluate("document.activeElement.getAttribute('href')") == "/second"


def test_marked_text_is_replaced_only_once_it_is_let_go(console: Console) -> None:
    console.page.evaluate("getSelection().selectAllChildren(document.querySelector('p'))")

    console.tell_of_a_change()

    console.page.wait_for_timeout(1200)
    assert console.refreshes() == 0
    console.page.evaluate("getSelection().removeAllRanges()")
    console.wait_for_refreshes(1)


def test_link_that_is_being_clicked_stays_until_the_button_is_up(console: Console) -> None:
    console.page.hover("[href='/first']")
    console.page.mouse.down()

    console.tell_of_a_change()

    console.page.wait_for_timeout(1200)
    assert console.refreshes() == 0
    console.page.mouse.up()
    console.page.wait_for_url(f"{SITE}/first")
