"""When something was seen: the database's time, the same for whichever process writes it down.

Workers on machines whose clocks differ write into the same columns, and pages compare what
they read there. A worker's own clock would let history run backwards, a lag be an hour, or
a kind that is to be asked for again in a minute rest for an hour.
"""

from datetime import datetime

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
