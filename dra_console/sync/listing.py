"""List a kind whole and bring its rows in line, page by page."""

from collections.abc import Iterable
from datetime import datetime

import structlog

from dra_console.kube.changed import ChangedPage
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


def list_all(window: Window, *, client: Client) -> None:
    """Bring all rows in line with a full list, and the cursor to the list's version.

    Pages are written as they come, the last one together with the sweep and the cursor. A
    crash in between leaves no cursor, so the next window lists again.

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
    page: ChangedPage | None = None
    for following in client.changed_pages(window.kind, is_known=known.holds):
        if not window.confirm_cluster(client):
            # Which of the two sent this page, and so its version, nobody can tell.
            raise NotOurTurnError("another cluster answers since the list began")
        if page is not None:
            with window.writing():
                now = database_now()
                write_page(window.cluster, kind=window.kind, page=page, known=known, seen_at=now)
        page = following
        listed.update(_keys_of(page))
        window.check()
    if page is None:
        raise AssertionError("a list has at least one page")
    with window.writing() as cursor:
        now = database_now()
        write_page(window.cluster, kind=window.kind, page=page, known=known, seen_at=now)
        sweep(window.cluster, kind=window.kind, listed=listed, seen_at=now, stored=known.names)
        cursor.relists += cursor.listed_at is not None
        cursor.listed_at = now
        note_contact(cursor, resource_version=page.resource_version)
    log.info("listed", **window.facts, objects=len(listed))


def write_page(
    cluster: Cluster, *, kind: Kind, page: ChangedPage, known: KnownVersions, seen_at: datetime
) -> None:
    """Write what of a page is not known, in a transaction of the caller's; then it is."""
    others = write_new(cluster, kind=kind, sent=page.changed, stored=known.names, seen_at=seen_at)
    apply(
        cluster,
        kind=kind,
        objects=(each.read() for each in others),
        seen_at=seen_at,
        stored=known.names,
    )
    known.names.update(_keys_of(page))


def _keys_of(page: ChangedPage) -> Iterable[ObjectKey]:
    return (ObjectKey(namespace, name) for namespace, name, _, _ in page.identities)
