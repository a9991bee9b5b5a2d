"""The world of a cluster as one moment of the mirror has it, and where watches go on from there.

Rows and cursor of a kind change in one transaction, so whoever reads both in one transaction
that sees one moment may watch from the cursor on and misses nothing, nor sees anything twice.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from django.db import connection, transaction

from dra_console.kube.kinds import (
    DEVICE_CLASSES,
    NODES,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
)
from dra_console.mirror.models import Cluster, Cursor
from dra_console.scheduling.allocating.claim_reading import read_claims
from dra_console.scheduling.allocating.resident import Resident
from dra_console.scheduling.models import WrittenAllocation

NEEDED: Final = frozenset(
    kind.plural for kind in (NODES, DEVICE_CLASSES, RESOURCE_SLICES, RESOURCE_CLAIMS)
)
"""A device that a claim holds is free to whoever has not listed the claims."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A world without pods, and the version from which to watch its claims on."""

    resident: Resident
    claims_version: str


@dataclass(frozen=True, slots=True)
class NotMirrored:
    """Some kinds are not mirrored to the end, so nothing may be allocated yet."""

    plurals: tuple[str, ...]


def open_resident(cluster: Cluster) -> Opened | NotMirrored:
    """Read everything anew; writes that the mirror does not show yet count as they were noted."""
    with one_moment():
        # Before the claims: a note is forgotten once the mirror shows its allocation.
        notes = list(WrittenAllocation.objects.filter(cluster=cluster))
        cursors = {
            cursor.plural: cursor.resource_version
            for cursor in Cursor.objects.filter(cluster=cluster, plural__in=NEEDED)
        }
        missing = [plural for plural in sorted(NEEDED) if not cursors.get(plural)]
        if missing:
            return NotMirrored(tuple(missing))
        resident = Resident(cluster, read_claims(cluster))
    for note in notes:
        resident.believe(note.raw)
    return Opened(resident, cursors[RESOURCE_CLAIMS.plural])


@contextmanager
def one_moment() -> Iterator[None]:
    """Let all reads of the block see the database as it was at the first of them."""
    if connection.vendor == "postgresql":
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield
        return
    # Django would begin a transaction that keeps writers out.
    with connection.cursor() as cursor:
        cursor.execute("BEGIN DEFERRED")
        try:
            yield
        finally:
            cursor.execute("ROLLBACK")
