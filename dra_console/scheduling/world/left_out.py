"""Tell people which objects scheduling does without, and which claims and pods tripped it.

A run reads every object anyway, so it is the one that knows. Its notes are those of the last
run: what no longer stands is withdrawn with it.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Final, NamedTuple

from dra_console.mirror.models import Cluster, FoundBy, ObjectProblem

TOLD: Final = 1000
"""So many odd objects are no oddity any more; the rest would only cost."""


class LeftOut(NamedTuple):
    """An object that no device can come from, or that none can be found for, and why."""

    plural: str
    namespace: str
    name: str

    path: str
    """Of the field; empty: no one field."""

    message: str


def tell(cluster: Cluster, found: Iterable[LeftOut], *, seen_at: datetime) -> None:
    """Keep the notes of a run; what was said already keeps the time since when it is known."""
    wanted = {each[:3]: each for each in sorted(found)[:TOLD]}
    stored = {
        (row.plural, row.namespace, row.name): row
        for row in ObjectProblem.objects.filter(cluster=cluster, found_by=FoundBy.ALLOCATOR)
    }
    said = {key for key, row in stored.items() if _says(row, wanted.get(key))}
    stale = [row.pk for key, row in stored.items() if key not in said]
    if stale:
        ObjectProblem.objects.filter(pk__in=stale).delete()
    ObjectProblem.objects.bulk_create(
        ObjectProblem(
            cluster=cluster, found_by=FoundBy.ALLOCATOR, seen_at=seen_at, **each._asdict()
        )
        for key, each in wanted.items()
        if key not in said
    )


def _says(row: ObjectProblem, wanted: LeftOut | None) -> bool:
    return wanted is not None and (row.path, row.message) == (wanted.path, wanted.message)
