"""Ask each API server how it is: whether it answers, what it is, who we are to it.

Windows cannot tell: one that waits for events hears nothing for a minute whether the server
is well or gone. The probe is a few small requests on its own, so a cluster's page can say
within `PROBE_SECONDS` that the server is away, and which versions it speaks.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

import structlog
from django.db import transaction

from dra_console.kube.client import Client
from dra_console.kube.errors import ApiError
from dra_console.kube.introspection import own_username, resource_versions, server_version
from dra_console.mirror.clusters import client_of
from dra_console.mirror.models import ApiServer, Cluster

log = structlog.get_logger()

PROBE_SECONDS: Final = 30
ERROR_LENGTH: Final = 2000


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """What an API server said."""

    version: str
    resource_versions: tuple[str, ...]
    username: str
    """Who we are to it; empty where it does not tell."""


def facts_of(client: Client) -> ServerFacts:
    """Ask.

    Raises:
        ApiError: the API server did not answer.

    """
    return ServerFacts(server_version(client), resource_versions(client), own_username(client))


def probe(cluster: Cluster, *, now: datetime) -> None:
    """Note what the API server of a cluster says now, or why it says nothing."""
    try:
        facts = facts_of(client_of(cluster))
    except ApiError as error:
        log.warning("API server not reached", cluster=cluster.name, reason=str(error))
        changes = {"asked_at": now, "error": str(error)[:ERROR_LENGTH]}
    else:
        changes = {
            "asked_at": now,
            "answered_at": now,
            "error": "",
            "version": facts.version[:63],
            "resource_versions": list(facts.resource_versions),
            "username": facts.username,
        }
    with transaction.atomic():
        # Locked, so that the cluster is not removed between the two.
        if Cluster.objects.select_for_update().filter(pk=cluster.pk).first() is not None:
            ApiServer.objects.update_or_create(cluster=cluster, defaults=changes)
