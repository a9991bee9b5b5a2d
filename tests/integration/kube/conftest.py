from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.kube.scripted import ScriptedServer, scripted_server


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ScriptedServer]:
    with scripted_server(tmp_path) as server:
        yield server
