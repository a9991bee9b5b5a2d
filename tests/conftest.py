"""Real servers for the tests that need them, each started once, on first use.

Where a program is missing, the tests that need it are skipped with the reason; with
`CI=true` that is a failure, so that CI cannot lose them in silence.
"""

import gc
import itertools
import shutil
import subprocess
import time
from collections.abc import Generator, Iterator
from pathlib import Path

import hypothesis
import pytest
import redis
from django.db import connections
from django.db.models import Model
from django.db.models.signals import pre_save

from tests import settings as test_settings
from tests.migrated import put_sqlite, running_migrated_postgresql
from tests.programs import need

SERVERS = Path(test_settings.SERVERS_DIR)
START_SECONDS = 20
FIRST_CLUSTER_KEY = 1001
"""Larger than those that tests without a database make up."""

# A busy machine is no finding: no test of ours fails because it took long.
hypothesis.settings.register_profile(
    "patient", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("patient")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look for no garbage while thousands of tests are made, and later not among them.

    It took a third of the time of collecting, in each of the workers.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="session", autouse=True)
def _no_key_of_a_cluster_comes_again() -> Iterator[None]:
    """Let no test see what the one before read: all that is kept is kept by a cluster's key.

    In the product such a key is never given out twice. SQLite takes its counter back with the
    rest of a test, so that each began with the same keys.
    """
    keys = itertools.count(FIRST_CLUSTER_KEY)

    def give_a_new_key(*, instance: Model, using: str, **_: object) -> None:
        if instance.pk is None and connections[using].vendor == "sqlite":
            instance.pk = next(keys)

    pre_save.connect(give_a_new_key, sender="mirror.Cluster")
    yield
    pre_save.disconnect(give_a_new_key, sender="mirror.Cluster")


def pytest_sessionfinish() -> None:
    shutil.rmtree(SERVERS, ignore_errors=True)


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    """Run a real redis-server for the session; its URL is also the console's setting."""
    port = test_settings.REDIS_PORT
    server = subprocess.Popen(
        [
            need("redis-server"),
            "--port",
            str(port),
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--dir",
            SERVERS,
        ],
        stdout=subprocess.DEVNULL,
    )
    client = redis.Redis(port=port)
    _wait_for(lambda: bool(client.ping()), what="redis-server")
    client.close()
    yield f"redis://127.0.0.1:{port}/0"
    server.terminate()
    server.wait(timeout=10)


@pytest.fixture(scope="session")
def django_db_modify_db_settings() -> Iterator[None]:
    """Have the test database, migrated, before Django looks for it."""
    if test_settings.TEST_DATABASE == "postgresql":
        with running_migrated_postgresql(
            SERVERS / "postgresql", port=test_settings.POSTGRESQL_PORT
        ):
            yield
            connections.close_all()
    else:
        put_sqlite(test_settings.SQLITE_FILE)
        yield
        connections.close_all()


@pytest.fixture(scope="session")
def django_db_keepdb() -> bool:
    """Let Django take the database as it is there; it still applies what it may lack."""
    return True


def _wait_for(ready: object, *, what: str) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        try:
            if callable(ready) and ready():
                return
        except redis.ConnectionError:
            pass
        time.sleep(0.05)
    pytest.fail(f"{what} did not answer within {START_SECONDS} s")
