"""When something was seen: the database's time, the same for whichever process writes it down.

Workers on machines whose clocks differ write into the same columns, and pages compare what
they read there. A worker's own clock would let history run backwards, a lag be an hour, or
a kind that is to be asked for again in a minute rest for an hour.
"""

import time
from datetime import datetime, timedelta
from typing import Final

from django.db import connection
from django.utils import timezone


def database_now() -> datetime:
    """Return the database's time; with SQLite, which has none of its own, this machine's."""
    if connection.vendor != "postgresql":
        return timezone.now()
    with connection.cursor() as cursor:
        cursor.execute("SELECT statement_timestamp()")
        (now,) = cursor.fetchone()
    if not isinstance(now, datetime):
        raise TypeError(f"statement_timestamp(): expected a time, got {now!r}")
    return now


class DatabaseClock:
    """The database's time for whoever asks for it hundreds of times a second.

    Asked for now and then; in between this machine says how much time has passed, which it can
    tell whatever it takes the time to be.
    """

    ASKED_EVERY_SECONDS: Final = 10.0

    def __init__(self) -> None:
        """Ask when it is read first."""
        self._asked_at = float("-inf")
        self._answer: datetime | None = None

    def now(self) -> datetime:
        """Return the database's time."""
        passed = time.monotonic() - self._asked_at
        if self._answer is None or passed >= self.ASKED_EVERY_SECONDS:
            self._answer, self._asked_at, passed = database_now(), time.monotonic(), 0.0
        return self._answer + timedelta(seconds=passed)
