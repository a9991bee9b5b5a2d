"""How writers of one SQLite file wait for each other."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.db import DEFAULT_DB_ALIAS, OperationalError
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.utils import ConnectionHandler
from pytest_django.plugin import DjangoDbBlocker

from dra_console.settings import _database

Connect = Callable[[], BaseDatabaseWrapper]


@pytest.fixture
def connect(tmp_path: Path, django_db_blocker: DjangoDbBlocker) -> Iterator[Connect]:
    """Open connections to a file of the test's own, whatever database the others use."""
    opened: list[BaseDatabaseWrapper] = []

    def connection() -> BaseDatabaseWrapper:
        settings = {DEFAULT_DB_ALIAS: _database(f"sqlite:///{tmp_path}/console.sqlite3")}
        opened.append(ConnectionHandler(settings)[DEFAULT_DB_ALIAS])
        opened[-1].ensure_connection()
        return opened[-1]

    with django_db_blocker.unblock():
        yield connection
    for each in opened:
        each.close()


def begin(connection: BaseDatabaseWrapper) -> None:
    connection.set_autocommit(False, force_begin_transaction_with_broken_autocommit=True)


def end(connection: BaseDatabaseWrapper) -> None:
    connection.commit()
    connection.set_autocommit(True)


def test_a_writer_that_waits_looks_every_millisecond_whether_the_other_is_done(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = connect(), connect()
    begin(first)
    paused = []

    def pause(seconds: float) -> None:
        paused.append(seconds)
        if len(paused) == 10:
            end(first)

    monkeypatch.setattr(time, "sleep", pause)

    begin(second)

    end(second)
    assert paused == [0.001] * 10


def test_a_writer_that_has_waited_for_long_gives_up(connect: Connect) -> None:
    first, second = connect(), connect()
    second.settings_dict["OPTIONS"]["timeout"] = 0.02
    begin(first)

    with pytest.raises(OperationalError, match="database is locked"):
        begin(second)

    second.set_autocommit(True)
    end(first)
    begin(second)
    end(second)


def test_a_connection_that_has_waited_waits_for_other_locks_as_before(connect: Connect) -> None:
    one = connect()

    begin(one)

    with one.cursor() as cursor:
        cursor.execute("PRAGMA busy_timeout")
        assert cursor.fetchone() == (20_000,)
    end(one)
