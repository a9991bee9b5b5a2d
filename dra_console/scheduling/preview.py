"""Would this claim fit now? Asked by the request form while somebody types."""

from dra_console.allocator.decode import decode_claim
from dra_console.allocator.explain import Explanation, explain
from dra_console.allocator.model import JsonObject
from dra_console.mirror.models import Cluster
from dra_console.scheduling.snapshot import read_snapshot


def preview(cluster: Cluster, spec: JsonObject) -> Explanation:
    """Explain a claim spec against the mirrored state; nothing is written.

    Raises:
        DecodeError: the spec has a field of the wrong kind.

    """
    claim = decode_claim(
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": "preview", "namespace": "preview"},
            "spec": spec,
        }
    )
    return explain(read_snapshot(cluster).snapshot, [claim])
