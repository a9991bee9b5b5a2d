"""Which cluster it is that answers: the UID of its namespace kube-system.

An address or a kubeconfig context may lead to another cluster tomorrow (a rebuilt test
cluster, a restored name). Rows of two clusters must never mix, so everything mirrored from
the old one is wiped before the first object of the new one is written.
"""

from typing import Final

import structlog
from django.db import transaction

from dra_console.kube.client import Client
from dra_console.kube.errors import ForbiddenError, NotFoundError
from dra_console.kube.kinds import NAMESPACES
from dra_console.mirror.models import Cluster, Cursor, Device, DeviceAssignment, ObjectChange, Pool
from dra_console.sync.errors import NotOurTurnError
from dra_console.sync.mirrored import MIRRORED
from dra_console.sync.reading import text_in

log = structlog.get_logger()

DERIVED: Final = (Device, Pool, DeviceAssignment, ObjectChange)


def confirm_identity(cluster: Cluster, *, client: Client) -> str:
    """Return the UID that stands for the cluster, after wiping rows that another one left.

    To be asked after a list or a watch was answered, and before anything of it is written:
    then what is written comes from the cluster that was confirmed, or from one before it
    that writers are no longer allowed to write for.

    A console that may not read namespaces cannot tell, and goes on with what it knew.

    Raises:
        NotOurTurnError: the cluster was removed from the console.

    """
    uid = identity_of(client)
    known = _known_uid(cluster)
    if uid in {"", known}:
        return known
    _adopt(cluster, uid=uid)
    return uid


def identity_of(client: Client) -> str:
    """Ask which cluster answers; empty if that may not be known.

    Raises:
        ApiError: the API server could not be asked.

    """
    try:
        namespace = client.get(NAMESPACES, "kube-system")
    except (ForbiddenError, NotFoundError) as error:
        log.warning("cluster identity unknown", reason=str(error))
        return ""
    return text_in(namespace, "metadata", "uid")


def _known_uid(cluster: Cluster) -> str:
    stored = Cluster.objects.filter(pk=cluster.pk).first()
    if stored is None:
        raise NotOurTurnError(f"cluster {cluster.name} was removed")
    return stored.kube_system_uid


def _adopt(cluster: Cluster, *, uid: str) -> None:
    with transaction.atomic():
        # Every writer holds its cursor: with all of them in hand, none is in mid-batch.
        list(Cursor.objects.select_for_update().filter(cluster=cluster).order_by("pk"))
        known = _known_uid(cluster)
        if known == uid:
            return
        if known:
            log.warning("cluster replaced, mirror wiped", cluster=cluster.name, was=known, now=uid)
            _wipe(cluster)
        Cluster.objects.filter(pk=cluster.pk).update(kube_system_uid=uid)


def _wipe(cluster: Cluster) -> None:
    for model in DERIVED:
        model._default_manager.filter(cluster=cluster).delete()  # noqa: SLF001 - Django's documented name
    for mirrored in MIRRORED.values():
        mirrored.rows(cluster).delete()
    Cursor.objects.filter(cluster=cluster).update(
        resource_version="", listed_at=None, last_event_at=None
    )
