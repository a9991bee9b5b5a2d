from collections.abc import Iterator

import pytest
from django.core.cache import cache

from tests.integration.served_cluster import ServedCluster, served_cluster


@pytest.fixture(autouse=True)
def _empty_cache(redis_url: str) -> None:
    del redis_url
    cache.clear()


@pytest.fixture(scope="module")
def _one_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedCluster]:
    with served_cluster(tmp_path_factory.mktemp("served")) as one:
        yield one


@pytest.fixture
def served(_one_server: ServedCluster) -> ServedCluster:
    _one_server.empty()
    return _one_server
