"""Would this claim fit now, and where? Asked by the request form while somebody types."""

from dataclasses import dataclass

from dra_console.allocator.decoding.decode import decode_claim
from dra_console.allocator.explanation.explain import Explanation, explain
from dra_console.allocator.model import JsonObject, ResourceClaim
from dra_console.allocator.search.filling import fill
from dra_console.allocator.world.index import index_of
from dra_console.mirror.models import Cluster
from dra_console.scheduling.whatif.changing import world_of
from dra_console.scheduling.whatif.fitting import usable_nodes
from dra_console.scheduling.whatif.states import LOOKING, current_state


@dataclass(frozen=True, slots=True)
class Preview:
    """What a claim spec would get now."""

    explanation: Explanation
    node_names: tuple[str, ...]
    """Nodes on which it fits, each by itself."""

    is_lower_bound: bool
    """True: the search on some node was not brought to its end."""


def explain_now(cluster: Cluster, spec: JsonObject) -> Explanation:
    """Explain a claim spec against the mirrored state; nothing is written.

    Raises:
        DecodeError: the spec has a field of the wrong kind.

    """
    claim = _claim(spec)
    state = current_state(cluster)
    with LOOKING:
        return explain(state.snapshot, [claim])


def preview(cluster: Cluster, spec: JsonObject) -> Preview:
    """Try a claim spec against the mirrored state; nothing is written.

    Nodes that take no pod are left out.

    Raises:
        DecodeError: the spec has a field of the wrong kind.

    """
    claim = _claim(spec)
    world = world_of(current_state(cluster))
    with LOOKING:
        filling = fill(index_of(world.snapshot), [[claim]], nodes=usable_nodes(world))
        return Preview(
            explanation=explain(world.snapshot, [claim], left_out=world.unusable),
            node_names=tuple(sorted(filling.counts_by_node())),
            is_lower_bound=filling.is_lower_bound,
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
