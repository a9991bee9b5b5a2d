"""Who an agent is: asked of the API server, with the token that the agent sent.

An agent's projected service account token is bound to its pod and thereby to a node
(KEP-4193). Three things must hold: the token is meant for this console (audience), it
belongs to the agents' service account (any pod may ask for a token with our audience),
and it names a node. What the agent may then report is that node and no other.
"""

import hashlib
from dataclasses import dataclass

import structlog
from django.conf import settings
from django.core.cache import cache

from dra_console.kube.reviews import TokenIdentity, review_token
from dra_console.mirror.clusters import (
    SeveralClustersError,
    client_of,
    enabled_cluster,
    only_cluster,
)
from dra_console.mirror.models import Cluster

log = structlog.get_logger()

REMEMBERED_SECONDS = 20
"""Spares the API server a storm when every agent reconnects; shorter than the re-check."""


@dataclass(frozen=True, slots=True)
class Agent:
    """A node's agent, as its token proves."""

    cluster_id: int
    cluster_name: str
    node_name: str


def agent_of_token(token: str, *, cluster_name: str) -> Agent | None:
    """Say whose agent sent this token; `None` if it is no agent's.

    `cluster_name` is what the agent's URL says (`?cluster=`); it may be left out while the
    console has one cluster. The token is shown to that cluster's API server alone, never to
    one that was guessed.

    Raises:
        ApiError: the API server did not say.

    """
    cluster = _cluster(cluster_name)
    if cluster is None:
        return None
    key = f"agent-token:{cluster.pk}:{hashlib.sha256(token.encode()).hexdigest()}"
    node_name = cache.get(key)
    if node_name is None:
        identity = review_token(client_of(cluster), token, audience=settings.AGENT_TOKEN_AUDIENCE)
        node_name = _node_name(identity)
        cache.set(key, node_name, timeout=REMEMBERED_SECONDS)
    if not node_name:
        return None
    return Agent(cluster_id=cluster.pk, cluster_name=cluster.name, node_name=node_name)


def _node_name(identity: TokenIdentity | None) -> str:
    if identity is None or identity.username != settings.AGENT_USERNAME:
        return ""
    return identity.node_name


def _cluster(name: str) -> Cluster | None:
    try:
        return enabled_cluster(name) if name else only_cluster()
    except (Cluster.DoesNotExist, SeveralClustersError) as error:
        log.warning("agent refused", reason=str(error))
        return None
