"""More of SQLite's pages in memory while a list is written; PostgreSQL has a memory of its own.

With 2 MB a transaction of a list puts pages into the log before it is done with them, and reads
them again. Each connection has its own pages, and a worker has a connection for each thread, so
the room is given back as soon as the list is written.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from django.db import connection

USUAL_KIBIBYTES: Final = 2_000
"""SQLite's own default."""

ROOMY_KIBIBYTES: Final = 16_000


@contextmanager
def roomy_page_cache() -> Iterator[None]:
    """Have more room on this thread's connection."""
    if connection.vendor != "sqlite":
        yield
        return
    _set(ROOMY_KIBIBYTES)
    try:
        yield
    finally:
        _set(USUAL_KIBIBYTES)
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA shrink_memory")


def _set(kibibytes: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"PRAGMA cache_size=-{kibibytes}")
