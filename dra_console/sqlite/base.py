"""SQLite as Django has it, but writers that wait for each other hear soon that one is done.

SQLite tells nobody. Who finds another writer at work sleeps and looks again, by itself after 1,
2, 5, 10, 15, 20, 25 ms and so on up to 100 ms, however soon the other is done; where somebody
writes most of the time that is how long everybody else waits. Here nobody waits much longer
than the other writes: at first they look every millisecond, then after each tenth of their wait.

Not more often than that: each look takes Python's lock from the very writer that is waited for,
and two that take turns after every transaction each read anew what the other has changed.
"""

import sqlite3
import time
from typing import Final

from django.db.backends.sqlite3 import base

SHORTEST_PAUSE_SECONDS: Final = 0.001
LONGEST_PAUSE_SECONDS: Final = 0.1
PAUSE_OF_WAIT: Final = 0.1
"""A pause is so much of the wait before it."""

PRIMARY_CODE: Final = 0xFF
"""The part of an extended error code that says what kind of error it is."""


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection, whose transactions are `IMMEDIATE`."""

    def _start_transaction_under_autocommit(self) -> None:
        connection: sqlite3.Connection = self.connection
        timeout_seconds = self.settings_dict["OPTIONS"]["timeout"]
        with self.wrap_database_errors:
            connection.execute("PRAGMA busy_timeout=0")
            try:
                _begin(connection, timeout_seconds=timeout_seconds)
            finally:
                connection.execute(f"PRAGMA busy_timeout={round(timeout_seconds * 1000)}")


def _begin(connection: sqlite3.Connection, *, timeout_seconds: float) -> None:
    began_at = time.monotonic()
    while True:
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            waited = time.monotonic() - began_at
            is_busy = error.sqlite_errorcode & PRIMARY_CODE == sqlite3.SQLITE_BUSY
            if not is_busy or waited >= timeout_seconds:
                raise
            pause = max(SHORTEST_PAUSE_SECONDS, waited * PAUSE_OF_WAIT)
            time.sleep(min(pause, LONGEST_PAUSE_SECONDS))
        else:
            return
