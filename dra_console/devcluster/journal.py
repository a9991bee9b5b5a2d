"""Objects and the tail of their history on disk, so that `kill -9` loses nothing.

One SQLite file in WAL mode, one transaction a write. `synchronous=NORMAL` keeps every
committed write when the process dies; only a power cut may take the last ones, which a
cluster for demos and tests can bear and which makes a write cost tens of microseconds.
The lock on the file is exclusive: a second server on one data directory is refused.
"""

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS objects (
    plural TEXT NOT NULL,
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    value BLOB NOT NULL,
    PRIMARY KEY (plural, namespace, name)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS events (
    resource_version INTEGER PRIMARY KEY,
    type TEXT NOT NULL,
    plural TEXT NOT NULL,
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    value BLOB NOT NULL,
    previous BLOB
);
"""


class JournalBusyError(Exception):
    """Another process holds the data directory."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One write: `value` is the object after it (for a deletion, its last state), as JSON."""

    resource_version: int
    type: str
    plural: str
    namespace: str
    name: str
    value: bytes
    previous: bytes | None


class Journal:
    """The SQLite file. Used from one thread only."""

    def __init__(self, path: Path) -> None:
        """Open or create the file.

        Raises:
            JournalBusyError: another process has it open.

        """
        self._connection = sqlite3.connect(path, isolation_level=None, timeout=0.5)
        try:
            self._connection.execute("PRAGMA locking_mode=EXCLUSIVE")
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.execute("PRAGMA synchronous=NORMAL")
            self._connection.executescript(SCHEMA)
        except sqlite3.OperationalError as error:
            self._connection.close()
            if "locked" not in str(error):
                raise
            raise JournalBusyError(f"{path}: another devcluster runs on this directory") from error

    def objects(self) -> Iterator[tuple[str, bytes]]:
        """Yield plural and JSON of each object."""
        yield from self._connection.execute("SELECT plural, value FROM objects")

    def entries(self) -> Iterator[Entry]:
        """Yield the kept writes, oldest first; their versions have no gap."""
        rows = self._connection.execute(
            "SELECT resource_version, type, plural, namespace, name, value, previous"
            " FROM events ORDER BY resource_version"
        )
        for row in rows:
            yield Entry(*row)

    def write(self, entry: Entry, *, gone: bool) -> None:
        """Store the object (or remove it where it is `gone`) and its event, both or neither."""
        key = (entry.plural, entry.namespace, entry.name)
        with self._connection:
            self._connection.execute("BEGIN")
            if gone:
                self._connection.execute(
                    "DELETE FROM objects WHERE plural = ? AND namespace = ? AND name = ?", key
                )
            else:
                self._connection.execute(
                    "INSERT OR REPLACE INTO objects VALUES (?, ?, ?, ?)", (*key, entry.value)
                )
            self._connection.execute(
                "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)",
                (entry.resource_version, entry.type, *key, entry.value, entry.previous),
            )

    def forget_before(self, resource_version: int) -> None:
        """Drop events older than `resource_version`."""
        self._connection.execute(
            "DELETE FROM events WHERE resource_version < ?", (resource_version,)
        )

    def close(self) -> None:
        self._connection.close()
