"""Rows of noted allocations, written as fast as they can be: a claim waits for it.

Means the same as `bulk_create` with `update_conflicts`, without making a model of each row and
an expression of each value; tests hold the two against each other.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Final

import orjson
from django.db import connection

from dra_console.allocator.model import JsonObject
from dra_console.mirror.models import Cluster
from dra_console.scheduling.models import WrittenAllocation
from dra_console.scheduling.writing.claim_status import uid_of

ROWS_AT_ONCE: Final = 200
"""Databases limit how many values a statement may have."""

_TABLE: Final = WrittenAllocation._meta.db_table  # noqa: SLF001 - Django's documented name


def put(cluster: Cluster, claims: Iterable[JsonObject], *, at: datetime) -> None:
    """Note claims as they will be sent, each once; a note of the same claim is replaced."""
    written_at = connection.ops.adapt_datetimefield_value(at)
    rows = [
        (cluster.pk, uid_of(claim), orjson.dumps(claim).decode(), written_at) for claim in claims
    ]
    with connection.cursor() as cursor:
        for start in range(0, len(rows), ROWS_AT_ONCE):
            chunk = rows[start : start + ROWS_AT_ONCE]
            places = ", ".join(["(%s, %s, %s, %s)"] * len(chunk))
            cursor.execute(
                f"INSERT INTO {_TABLE} (cluster_id, claim_uid, raw, written_at)"  # noqa: S608 - a model's name
                f" VALUES {places} ON CONFLICT (cluster_id, claim_uid)"
                " DO UPDATE SET raw = EXCLUDED.raw, written_at = EXCLUDED.written_at",
                [value for row in chunk for value in row],
            )
