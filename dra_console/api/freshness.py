"""How old an answer is: everything here comes from the mirror, and says so.

`X-Mirror-ResourceVersion` is the resource version up to which the kind was followed, `Age` the
seconds since the API server last spoke for it (bookmarks included).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from http import HTTPStatus

from django.db.models.functions import Now

from dra_console.api.problems import Problem
from dra_console.kube.kinds import Kind
from dra_console.mirror.models import Cluster, Cursor

STALE_AFTER = timedelta(minutes=2)
"""API servers send a bookmark about once a minute; two missed ones are a sign."""


@dataclass(frozen=True, slots=True)
class Freshness:
    """How far and until when the mirror followed what an answer is made of."""

    resource_version: str
    """Of the first kind; opaque."""

    contact_at: datetime | None
    """Of the kind that was heard of longest ago."""

    read_at: datetime
    """When this was read, by the database's clock, which also told when contact was."""

    def headers(self) -> Mapping[str, str]:
        """Spell it as HTTP headers."""
        headers = {"X-Mirror-ResourceVersion": self.resource_version}
        if self.contact_at is not None:
            age = max(self.read_at - self.contact_at, timedelta(0))
            headers["Age"] = str(int(age.total_seconds()))
            if age > STALE_AFTER:
                headers["Warning"] = '110 dra-console "Response is Stale"'
        return headers


def _obstacle(cursor: Cursor) -> str:
    """Say in general what is wrong; in full it is for operators alone (`/api/v1/clusters/`)."""
    match cursor.error_status:
        case HTTPStatus.FORBIDDEN:
            return "forbidden to the console"
        case HTTPStatus.NOT_FOUND:
            return "not served there"
        case _:
            return "following them fails"


def read_freshness(cluster: Cluster, *, kinds: Sequence[Kind]) -> Freshness:
    """Read how fresh the mirror is for these kinds, in one query.

    Raises:
        Problem: one of them was never listed, so an answer would be empty without meaning it.

    """
    plurals = [kind.plural for kind in kinds]
    found = Cursor.objects.filter(cluster=cluster, plural__in=plurals).annotate(read_at=Now())
    cursors = {row.plural: row for row in found}
    for plural in plurals:
        cursor = cursors.get(plural)
        if cursor is None or cursor.listed_at is None:
            reason = f" ({_obstacle(cursor)})" if cursor and cursor.error else ""
            raise Problem(
                HTTPStatus.SERVICE_UNAVAILABLE,
                "not-mirrored-yet",
                f"{plural} of cluster {cluster.name} have not been read yet{reason}.",
            )
    contacts = [cursor.last_contact_at for cursor in cursors.values()]
    known = [contact for contact in contacts if contact is not None]
    return Freshness(
        resource_version=cursors[plurals[0]].resource_version,
        contact_at=min(known) if len(known) == len(contacts) else None,
        read_at=cursors[plurals[0]].read_at,
    )
