"""Which topics there are, and who may hear of them.

A topic is authorised on its own, by the same `access.rules` that pages and REST ask. A
topic that names something foreign is refused exactly as one that names nothing.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from dra_console.access.rules import Account, may, visible_namespaces
from dra_console.kube.kinds import NODES, RESOURCE_CLAIMS, RESOURCE_SLICES
from dra_console.mirror.models import Cluster, ResourceClaim


class TopicKind(StrEnum):
    """What a topic is about, as its first word says."""

    DEVICES = "devices"
    CLAIMS = "claims"
    CLAIM = "claim"
    ATTEMPTS = "attempts"
    TELEMETRY = "telemetry"


@dataclass(frozen=True, slots=True)
class Topic:
    """One topic, taken apart; see `dra_console.events` for what each is for."""

    kind: TopicKind
    cluster_id: int

    name: str
    """UID of the claim, name of the node, or empty where the topic is the whole cluster's."""


_TOPIC = re.compile(
    r"(?:(?P<whole>devices|claims|attempts)\.(?P<whole_cluster>[0-9]{1,18})"
    r"|(?P<claim>claim)\.(?P<claim_cluster>[0-9]{1,18})\.(?P<uid>[-A-Za-z0-9]{1,64})"
    r"|(?P<telemetry>telemetry)\.(?P<node_cluster>[0-9]{1,18})\.(?P<node>[-a-z0-9.]{1,253}))"
)


def parse_topic(text: str) -> Topic | None:
    """Take a topic apart; `None` if it is none."""
    match = _TOPIC.fullmatch(text)
    if match is None:
        return None
    if match["claim"]:
        return Topic(TopicKind.CLAIM, int(match["claim_cluster"]), match["uid"])
    if match["telemetry"]:
        return Topic(TopicKind.TELEMETRY, int(match["node_cluster"]), match["node"])
    return Topic(TopicKind(match["whole"]), int(match["whole_cluster"]), "")


def allowed_topics(user: Account, topics: Iterable[Topic]) -> frozenset[Topic]:
    """Keep the topics that this user may hear of.

    Raises:
        RightsUnknownError: an API server could not be asked.

    """
    wanted = set(topics)
    clusters = Cluster.objects.filter(
        pk__in={topic.cluster_id for topic in wanted}, enabled=True
    ).in_bulk()
    return frozenset(
        topic
        for topic in wanted
        if (cluster := clusters.get(topic.cluster_id)) and _may_hear(user, cluster, topic)
    )


def _may_hear(user: Account, cluster: Cluster, topic: Topic) -> bool:
    match topic.kind:
        case TopicKind.DEVICES | TopicKind.TELEMETRY:
            return may(user, cluster, "list", RESOURCE_SLICES) and may(user, cluster, "list", NODES)
        case TopicKind.CLAIMS | TopicKind.ATTEMPTS:
            return visible_namespaces(user, cluster, RESOURCE_CLAIMS) != frozenset()
        case TopicKind.CLAIM:
            return _may_see_claim(user, cluster, uid=topic.name)


def _may_see_claim(user: Account, cluster: Cluster, *, uid: str) -> bool:
    claim = ResourceClaim.objects.filter(cluster=cluster, uid=uid).only("namespace", "name").first()
    return claim is not None and may(
        user, cluster, "get", RESOURCE_CLAIMS, namespace=claim.namespace, name=claim.name
    )
