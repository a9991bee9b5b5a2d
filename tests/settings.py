"""The console's own settings, with addresses of servers that the test session starts.

Ports are chosen here, since Django reads its settings before any fixture runs; the
servers behind them start with the first test that asks (`tests/conftest.py`).
"""

import os
import socket
import tempfile
from pathlib import Path


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


SERVERS_DIR = tempfile.mkdtemp(prefix="dra-tests-")
REDIS_PORT = free_port()
POSTGRESQL_PORT = free_port()
TEST_DATABASE = os.environ.get("DRA_TEST_DATABASE", "sqlite")

os.environ["DRA_CONSOLE_SECRET_KEY"] = "tests-only-" + "x" * 40
os.environ["DRA_CONSOLE_REDIS_URL"] = f"redis://127.0.0.1:{REDIS_PORT}/0"
os.environ["DRA_CONSOLE_STATIC_ROOT"] = tempfile.mkdtemp(dir=SERVERS_DIR)
os.environ["DRA_CONSOLE_DATABASE_URL"] = (
    f"postgresql://postgres@127.0.0.1:{POSTGRESQL_PORT}/console"
    if TEST_DATABASE == "postgresql"
    else f"sqlite:///{SERVERS_DIR}/console.sqlite3"
)

from dra_console.settings import *  # noqa: E402, F403 - the environment had to be set first

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

SQLITE_FILE = Path(SERVERS_DIR, "test_console.sqlite3")
if TEST_DATABASE != "postgresql":
    # A file, as in the product: threads that share Django's database in memory do not wait for
    # each other's locks, they fail.
    DATABASES["default"]["TEST"] = {"NAME": str(SQLITE_FILE)}  # noqa: F405 - the console's own
