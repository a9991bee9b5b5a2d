"""List a kind whole and bring its rows in line, page by page."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

import structlog

from dra_console.kube.changed import SentObject
from dra_console.kube.client import Client
from dra_console.kube.kinds import Kind
from dra_console.mirror.clock import database_now
from dra_console.mirror.models import Cluster
from dra_console.sync.cursors import note_contact
from dra_console.sync.errors import NotOurTurnError
from dra_console.sync.known import KnownVersions, known_versions
from dra_console.sync.new_objects import write_new
from dra_console.sync.objects import ObjectKey
from dra_console.sync.reconcile import apply, sweep
from dra_console.sync.window import Window

log = structlog.get_logger()


WRITE_BYTES: Final = 3_000_000
"""Of answers that are written in one transaction, if they are more than one: four pages of
claims, or one of slices with eight GPUs each."""


def list_all(window: Window, *, client: Client) -> None:
    """Bring all rows in line with a full list, and the cursor to the list's version.

    Pages are written as they come, a few at a time, the last ones together with the sweep and
    the cursor. A crash in between leaves no cursor, so the next window lists again.

    Raises:
        ExpiredError: the server forgot the list in its middle; list again.
        NotOurTurnError: this window may write no more.

    """
    window.confirm_cluster(client)
    with window.writing() as cursor:
        cursor.resource_version = ""
        # Stays true while this window alone writes: `writing` refuses once another has.
        known = known_versions(window.cluster, kind=window.kind)
    listed: set[ObjectKey] = set()
    unwritten: list[SentObject] = []
    held_bytes = 0
    version = ""
    for page in client.changed_pages(window.kind, is_known=known.holds):
        if not window.confirm_cluster(client):
            # Which of the two sent this page, and so its version, nobody can tell.
            raise NotOurTurnError("another cluster answers since the list began")
        if unwritten and held_bytes + page.size_bytes > WRITE_BYTES:
            with window.writing():
                _write(window, unwritten, known=known, seen_at=database_now())
            unwritten, held_bytes = [], 0
        if page.changed:
            unwritten += page.changed
            held_bytes += page.size_bytes
        version = page.resource_version
        listed.update(map(ObjectKey.of, page.identities))
        window.check()
    with window.writing() as cursor:
        now = database_now()
        _write(window, unwritten, known=known, seen_at=now)
        sweep(window.cluster, kind=window.kind, listed=listed, seen_at=now, stored=known.names)
        cursor.relists += cursor.listed_at is not None
        cursor.listed_at = now
        note_contact(cursor, resource_version=version)
    log.info("listed", **window.facts, objects=len(listed))


def write_sent(
    cluster: Cluster,
    *,
    kind: Kind,
    sent: Sequence[SentObject],
    known: KnownVersions,
    seen_at: datetime,
) -> None:
    """Write objects that are not known, in a transaction of the caller's; then they are."""
    others = write_new(cluster, kind=kind, sent=sent, stored=known.names, seen_at=seen_at)
    apply(
        cluster,
        kind=kind,
        objects=(each.read() for each in others),
        seen_at=seen_at,
        stored=known.names,
    )
    known.names.update(ObjectKey.of(each.identity) for each in sent)


def _write(
    window: Window, sent: Sequence[SentObject], *, known: KnownVersions, seen_at: datetime
) -> None:
    write_sent(window.cluster, kind=window.kind, sent=sent, known=known, seen_at=seen_at)
