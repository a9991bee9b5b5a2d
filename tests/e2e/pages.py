"""Chromium on the demo: log in, walk, look, and hold each page to axe and the CSP."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, ConsoleMessage, Page, sync_playwright

from tests.e2e.demos import PATIENCE_SECONDS, Demo

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
WIDE = {"width": 1440, "height": 960}
NARROW = {"width": 390, "height": 844}
PATIENCE_MS = PATIENCE_SECONDS * 1000
SERIOUS = {"serious", "critical"}
CUT_SHORT = ("htmx:afterRequest", "htmx:sendAbort", "htmx:sendError")


@contextmanager
def browser(chromium: str) -> Iterator[Browser]:
    """Run Chromium for a block."""
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        try:
            yield running
        finally:
            running.close()


class Visitor:
    """One person in one browser window; collects what the console says."""

    def __init__(
        self,
        running: Browser,
        demo: Demo,
        *,
        width: int = 1440,
        dark: bool = False,
        runs_scripts: bool = True,
    ) -> None:
        self._demo = demo
        viewport = WIDE if width == WIDE["width"] else NARROW
        context = running.new_context(
            viewport={"width": viewport["width"], "height": viewport["height"]},
            color_scheme="dark" if dark else "light",
            java_script_enabled=runs_scripts,
        )
        self.page: Page = context.new_page()
        self.page.set_default_timeout(PATIENCE_MS)
        self.complaints: list[str] = []
        self._is_inspecting = False
        self.page.on("console", self._hear)

    def _hear(self, message: ConsoleMessage) -> None:
        # axe adds styles of its own to the page, and the policy rightly refuses them. htmx tells
        # of requests that were cut short by leaving the page, which is no fault of the page.
        is_cut_short = message.text.startswith(CUT_SHORT)
        if message.type == "error" and not self._is_inspecting and not is_cut_short:
            self.complaints.append(message.text)

    def log_in(self, name: str) -> None:
        """Log in through the form."""
        account = self._demo.summary["users"][name]
        self.open("login/")
        self.page.fill("input[name=username]", account["username"])
        self.page.fill("input[name=password]", account["password"])
        self.page.click("button[type=submit]")
        self.page.wait_for_url(self._demo.url)

    def open(self, path: str) -> None:
        """Open a page of the console."""
        self.page.goto(self._demo.url + path.lstrip("/"))

    def wait_until_live(self) -> None:
        """Wait for the socket."""
        self.page.wait_for_selector('html[data-live="live"]')

    def violations(self) -> list[str]:
        """Name the serious violations that axe finds on the page."""
        self._is_inspecting = True
        found = Axe().run(self.page).response["violations"]
        self._is_inspecting = False
        return [
            f"{one['id']}: {node['html'][:160]}"
            for one in found
            if one["impact"] in SERIOUS
            for node in one["nodes"]
        ]

    def shoot(self, name: str) -> None:
        """Keep a picture, where `DRA_SCREENSHOTS` names a folder for them."""
        if folder := os.environ.get("DRA_SCREENSHOTS"):
            target = Path(folder)
            target.mkdir(parents=True, exist_ok=True)
            self._is_inspecting = True
            self.page.screenshot(path=target / f"{name}.png")
            self._is_inspecting = False
