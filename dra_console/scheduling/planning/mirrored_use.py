"""What runs on the nodes of a cluster, read from the mirror and kept on a board."""

import time
from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import Final

from django.db.models import Count, Q, QuerySet, Sum

from dra_console.mirror.models import Cluster, PodUse
from dra_console.mirror.pod_requests import CPU, EPHEMERAL_STORAGE, MEMORY, Amounts
from dra_console.scheduling.planning.board import NodeBoard
from dra_console.scheduling.planning.node_facts import PODS

COUNTED_ON_SECONDS: Final = 120.0
"""A pod that was bound and that the mirror does not show for so long has ended or is gone."""

NAMES_AT_ONCE: Final = 500


class MirroredUse:
    """Tells a board of the nodes on which something has changed."""

    def __init__(self, cluster: Cluster, board: NodeBoard) -> None:
        """Know of nothing yet."""
        self._cluster: Final = cluster
        self._board: Final = board
        self._known: Final[dict[str, Amounts]] = {}
        self._taken_at: Final[dict[str, float]] = {}

    def compare(self, node_names: Collection[str] | None = None) -> bool:
        """Read these nodes anew, or all; tell whether any has more room than before."""
        now = read_uses(self._cluster, node_names)
        asked = self._known.keys() if node_names is None else node_names
        changed = {
            name: now.get(name, {})
            for name in {*now, *asked}
            if self._known.get(name, {}) != now.get(name, {})
        }
        has_more_room = any(
            amount > amounts.get(resource, 0)
            for name, amounts in changed.items()
            for resource, amount in self._known.get(name, {}).items()
        )
        self._known.update(changed)
        self._board.show_use(changed, shown=self._shown())
        return has_more_room

    def _shown(self) -> set[str]:
        """Return the pods that need not be counted on any more."""
        taken = self._board.taken_pods
        if not taken:
            self._taken_at.clear()
            return set()
        names = {each.node_name for each in taken.values()}
        shown = set(_working(self._cluster, names).values_list("uid", flat=True))
        now = time.monotonic()
        for uid in taken:
            if now - self._taken_at.setdefault(uid, now) > COUNTED_ON_SECONDS:
                shown.add(uid)
        for uid in self._taken_at.keys() - taken.keys():
            del self._taken_at[uid]
        return shown


def read_uses(cluster: Cluster, node_names: Collection[str] | None = None) -> Mapping[str, Amounts]:
    """Add up what is in use on these nodes, or on all where anything runs; `pods` included."""
    if node_names is not None and len(node_names) > NAMES_AT_ONCE:
        everywhere = read_uses(cluster)
        return {name: everywhere[name] for name in node_names if name in everywhere}
    rows = _working(cluster, node_names)
    uses: dict[str, dict[str, int]] = {}
    for name, pods, cpu, memory, storage in rows.values_list("node_name").annotate(
        Count("pk"), Sum("cpu_milli"), Sum("memory_bytes"), Sum("ephemeral_storage_bytes")
    ):
        # PostgreSQL adds up whole numbers as numerics.
        uses[name] = {
            PODS: pods,
            CPU: int(cpu),
            MEMORY: int(memory),
            EPHEMERAL_STORAGE: int(storage),
        }
    others: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for name, requests in rows.filter(other_requests__isnull=False).values_list(
        "node_name", "other_requests"
    ):
        for resource, amount in (requests or {}).items():
            others[name][resource] += amount
    for name, amounts in others.items():
        uses[name] |= amounts
    return uses


def _working(cluster: Cluster, node_names: Collection[str] | None) -> "QuerySet[PodUse]":
    rows = PodUse.objects.filter(~Q(node_name=""), cluster=cluster, is_finished=False)
    return rows if node_names is None else rows.filter(node_name__in=node_names)
