"""One demo for the tests that only look at it; each has its own people and pods."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.e2e.demos import Demo, running_demo
from tests.e2e.pages import PATIENCE_MS
from tests.programs import need
from tests.settings import free_port

expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    """Run the demo; without its background workload, except for pictures, which should live."""
    home: Path = tmp_path_factory.mktemp("demo") / ".demo"
    is_for_pictures = "DRA_SCREENSHOTS" in os.environ
    with running_demo(home, port=free_port(), workload=is_for_pictures) as running:
        yield running


@pytest.fixture(scope="session")
def chromium() -> str:
    """Return the path of Debian's Chromium."""
    return need("chromium")
