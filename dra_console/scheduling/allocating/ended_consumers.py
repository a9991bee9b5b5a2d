"""Pods that have ended and still name a claim, which therefore cannot be reserved ahead.

kube-controller-manager reserves an allocated claim for every pod on a node that names it, and so
for one that has ended; it sees that next, and takes reservation and allocation back (seen on
Kubernetes 1.37). Whoever allocated again would do so every second until the pod is deleted.
"""

from typing import Final

from dra_console.mirror.models import Cluster, Pod
from dra_console.scheduling.allocating.pending import FINISHED

READ_EVERY_SECONDS: Final = 5.0
"""There may be thousands of such pods, and claims come a hundred a second."""


class EndedConsumers:
    """Which claims such pods name, as the mirror had it some seconds ago at most."""

    def __init__(self, cluster: Cluster) -> None:
        """Know of none yet."""
        self._cluster: Final = cluster
        self._names: dict[str, str] = {}
        self._read_at = float("-inf")

    def of(self, claim_key: str, *, now: float) -> str:
        """Name a pod on a node that has ended and names the claim `namespace/name`; empty: none.

        `now` is monotonic.
        """
        if now - self._read_at >= READ_EVERY_SECONDS:
            self._read_at = now
            self._names = self._read()
        return self._names.get(claim_key, "")

    def _read(self) -> dict[str, str]:
        ended = Pod.objects.filter(cluster=self._cluster, phase__in=FINISHED).exclude(node_name="")
        rows = ended.order_by().values_list("namespace", "name", "claim_names")
        return {
            f"{namespace}/{claim}": name
            for namespace, name, claims in rows.iterator()
            for claim in claims.values()
        }
