"""What a live refresh leaves alone, and that no change is missed, whenever it comes."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, WebSocketRoute, expect, sync_playwright

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
FORM = """
<form hx-get="/part" hx-trigger="submit"
      hx-target="#body" hx-swap="outerHTML" hx-sync="#body:replace">
  <input type="hidden" name="filter" value="h100"><button>Filter</button>
</form>
"""
LONG_AGO = 600
SCRIPTS = ("live.js", "open-details.js", "keep-focus.js")


class Console:
    """Serves one page whose part counts how often it was asked for, and tells of changes."""

    def __init__(self, page: Page, *, changed_seconds_ago: float | None = LONG_AGO) -> None:
        self.page = page
        self.changed_seconds_ago = changed_seconds_ago
        self.asked: list[str] = []
        self.answer: Callable[[Route, str], None] = _answer_at_once
        self._sockets: list[WebSocketRoute] = []
        page.route(f"{SITE}/**", self._serve)
        page.route_web_socket("ws://console.test/ws/v1/live", self._connect)
        page.goto(f"{SITE}/")
        page.wait_for_selector("html[data-live=live]")

    def _connect(self, socket: WebSocketRoute) -> None:
        self._sockets.append(socket)
        socket.on_message(lambda text: self._subscribe(socket, str(text)))

    def _subscribe(self, socket: WebSocketRoute, text: str) -> None:
        topics = json.loads(text)["subscribe"]
        ages = dict.fromkeys(topics, self.changed_seconds_ago)
        frame = {"subscribed": topics, "refused": [], "changed_seconds_ago": ages}
        socket.send(json.dumps(frame))

    def _serve(self, route: Route) -> None:
        path = route.request.url.removeprefix(SITE)
        if path.startswith("/static/"):
            route.fulfill(path=STATIC / path.removeprefix("/static/"))
        elif path.startswith("/part"):
            self.asked.append(path)
            self.answer(route, PART.format(count=len(self.asked)))
        else:
            modules = "".join(
                f'<script type="module" src="/static/js/{name}"></script>' for name in SCRIPTS
            )
            htmx = '<script src="/static/vendor/htmx-2.0.11/htmx.min.js"></script>'
            body = f"<body>{FORM}{PART.format(count=0)}</body>"
            document = f"<!DOCTYPE html><html>{htmx}{modules}{body}</html>"
            route.fulfill(content_type="text/html", body=document)

    def tell_of_a_change(self) -> None:
        self._sockets[-1].send('{"topic": "claims.1", "changed": true}')

    def wait_for_refreshes(self, count: int) -> None:
        expect(self.page.locator("i")).to_have_text(str(count))
        self.page.wait_for_timeout(100)

    def wait_until_asked(self, count: int) -> None:
        deadline = time.monotonic() + 10
        while len(self.asked) < count:
            assert time.monotonic() < deadline, f"not asked {count} times: {self.asked}"
            self.page.wait_for_timeout(20)

    def refreshes(self) -> int:
        return int(self.page.inner_text("i"))


def _answer_at_once(route: Route, body: str) -> None:
    route.fulfill(content_type="text/html", body=body)


@pytest.fixture
def page(chromium: str) -> Iterator[Page]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser.new_page()
        browser.close()


@pytest.fixture
def console(page: Page) -> Console:
    return Console(page)


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


def test_what_changed_before_the_page_was_asked_for_is_not_fetched_again(page: Page) -> None:
    console = Console(page, changed_seconds_ago=30)

    page.wait_for_timeout(600)
    assert console.asked == []


@pytest.mark.parametrize("changed_seconds_ago", [0, None], ids=["just now", "not known"])
def test_what_changed_between_asking_for_the_page_and_subscribing_is_fetched(
    page: Page, changed_seconds_ago: float | None
) -> None:
    console = Console(page, changed_seconds_ago=changed_seconds_ago)

    console.wait_for_refreshes(1)


def test_a_change_that_comes_while_a_refresh_is_under_way_is_fetched_after_it(
    console: Console,
) -> None:
    held: list[tuple[Route, str]] = []
    console.answer = lambda route, body: held.append((route, body))
    console.tell_of_a_change()
    console.wait_until_asked(1)
    console.answer = _answer_at_once

    console.tell_of_a_change()
    console.page.wait_for_timeout(500)
    assert len(console.asked) == 1
    _answer_at_once(*held[0])

    console.wait_for_refreshes(2)


def test_a_refresh_that_was_answered_with_an_error_is_tried_again(console: Console) -> None:
    console.answer = lambda route, _body: route.fulfill(status=502, body="bad gateway")
    console.tell_of_a_change()
    console.wait_until_asked(1)
    console.answer = _answer_at_once

    console.wait_for_refreshes(2)


def test_a_filter_s_answer_is_shown_whatever_refresh_was_under_way(console: Console) -> None:
    held: list[tuple[Route, str]] = []
    console.answer = lambda route, body: held.append((route, body))
    console.tell_of_a_change()
    console.wait_until_asked(1)
    console.page.click("button")
    console.wait_until_asked(2)
    console.tell_of_a_change()

    (refresh, old), (form, filtered) = held
    _answer_at_once(refresh, old)
    console.page.wait_for_timeout(500)
    _answer_at_once(form, filtered)

    expect(console.page.locator("i")).to_have_text("2")
    assert console.asked[1] == "/part?filter=h100"
