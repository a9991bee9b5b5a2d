"""Pods by their UIDs, as agents of nodes know them."""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from dra_console.mirror.models import Cluster, PodUse


class PodName(NamedTuple):
    """Where a pod is to be found."""

    namespace: str
    name: str
    is_mirrored: bool
    """Whether it has a page: it has claims, or the console places it."""


def pod_names(cluster: Cluster, node_name: str, uids: Collection[str]) -> Mapping[str, PodName]:
    """Name the pods of a node that have not ended; whoever shows them asks for rights first."""
    if not uids or not node_name:
        return {}
    rows = PodUse.objects.filter(
        cluster=cluster, node_name=node_name, is_finished=False, uid__in=uids
    ).values_list("uid", "namespace", "name", "is_mirrored")
    return {
        uid: PodName(namespace, name, is_mirrored) for uid, namespace, name, is_mirrored in rows
    }
