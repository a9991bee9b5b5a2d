from collections.abc import Iterator
from pathlib import Path

import pytest

from dra_console.devcluster.store import Store
from tests.unit.devcluster.things import with_namespace


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = with_namespace(Store(tmp_path / "cluster.db"))
    yield store
    store.close()
