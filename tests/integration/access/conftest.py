from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.cache import cache

from tests.integration.served_cluster import ServedCluster, served_cluster


@pytest.fixture(autouse=True)
def _empty_cache(redis_url: str) -> None:
    del redis_url
    cache.clear()


@pytest.fixture
def served(tmp_path: Path) -> Iterator[ServedCluster]:
    with served_cluster(tmp_path) as cluster:
        yield cluster
