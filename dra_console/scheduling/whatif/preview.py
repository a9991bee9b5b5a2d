"""Would this claim fit now, and where? Asked by the request form while somebody types."""

from dataclasses import dataclass

from dra_console.allocator.decoding.decode import decode_claim
from dra_console.allocator.explanation.explain import Explanation, explain
from dra_console.allocator.model import JsonObject, ResourceClaim
from dra_console.allocator.outcomes import Allocated
from dra_console.allocator.search.search import allocate
from dra_console.mirror.models import Cluster
from dra_console.scheduling.world.snapshot import read_snapshot

NODES_TRIED = 200
"""A form is answered while somebody types: on more nodes the places are a lower bound."""

STEPS_A_NODE = 20_000


@dataclass(frozen=True, slots=True)
class Preview:
    """What a claim spec would get now."""

    explanation: Explanation
    node_names: tuple[str, ...]
    """Nodes on which it fits, each by itself."""

    is_lower_bound: bool
    """True: there are more nodes than were tried."""


def explain_now(cluster: Cluster, spec: JsonObject) -> Explanation:
    """Explain a claim spec against the mirrored state; nothing is written.

    Raises:
        DecodeError: the spec has a field of the wrong kind.

    """
    return explain(read_snapshot(cluster).snapshot, [_claim(spec)])


def preview(cluster: Cluster, spec: JsonObject) -> Preview:
    """Try a claim spec against the mirrored state; nothing is written.

    Raises:
        DecodeError: the spec has a field of the wrong kind.
        NodeSelectorError: a slice's node selector is malformed.

    """
    claim = _claim(spec)
    snapshot = read_snapshot(cluster).snapshot
    return Preview(
        explanation=explain(snapshot, [claim]),
        node_names=tuple(
            node.name
            for node in snapshot.nodes[:NODES_TRIED]
            if isinstance(
                allocate(snapshot, [claim], node=node, step_budget=STEPS_A_NODE), Allocated
            )
        ),
        is_lower_bound=len(snapshot.nodes) > NODES_TRIED,
    )


def _claim(spec: JsonObject) -> ResourceClaim:
    return decode_claim(
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": "preview", "namespace": "preview"},
            "spec": spec,
        }
    )
