"""What a pod asks of its node, read once for each version of the pod. Pure.

What the console does not do is refused by name, never ignored: a pod that is placed without
regard to what it asks for is worse off than one that waits.
"""

from dataclasses import dataclass, field
from typing import Final

from dra_console.allocator.api_json import object_of, objects_of
from dra_console.allocator.decoding.decode import decode_node_selector
from dra_console.allocator.errors import DecodeError, QuantityError
from dra_console.allocator.model import JsonObject, NodeSelector
from dra_console.allocator.world.nodes import NodeSelectorError, check_selector
from dra_console.mirror.pod_requests import requests_of
from dra_console.scheduling.planning.placements import Placement, placement_of
from dra_console.scheduling.planning.plans import Refused
from dra_console.scheduling.planning.tolerations import NodeToleration, tolerations_of
from dra_console.scheduling.planning.unsupported import unsupported

REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
NODE_AFFINITY: Final = "spec.affinity.nodeAffinity"


@dataclass(frozen=True, slots=True)
class NodeWish:
    """Which nodes are good for a pod at all, and which of them are better.

    Equal for pods from one template, so that what is found out for one holds for the others.
    """

    tolerations: tuple[NodeToleration, ...] = ()
    labels: tuple[tuple[str, str], ...] = ()
    """Of `nodeSelector`, sorted."""

    required: NodeSelector | None = None
    preferred: tuple[tuple[int, NodeSelector], ...] = ()
    """Weights, and what nodes have to match for them."""


@dataclass(frozen=True, slots=True)
class PodWish:
    """A pod that looks for a node; by default a claim that does, and asks for nothing else."""

    nodes: NodeWish = field(default_factory=NodeWish)
    requests: tuple[tuple[str, int], ...] = ()
    """Amounts by resource as `mirror.pod_requests` counts them, sorted."""

    placement: Placement = Placement.PACK
    uid: str = ""
    """Of the pod; empty for a claim."""


def wish_of_pod(pod: JsonObject) -> PodWish | Refused:
    """Read a pod."""
    metadata, spec = object_of(pod.get("metadata")), object_of(pod.get("spec"))
    if refused := unsupported(spec):
        return refused
    placement = placement_of(metadata)
    if isinstance(placement, Refused):
        return placement
    try:
        return PodWish(
            nodes=_node_wish(spec),
            requests=tuple(sorted(requests_of(pod).items())),
            placement=placement,
            uid=str(metadata.get("uid", "")),
        )
    except QuantityError as error:
        return Refused(f"what the pod requests cannot be read: {error}", "spec.containers")
    except DecodeError as error:
        return Refused(error.message, error.path)


def wish_of_claim(claim: JsonObject) -> PodWish | Refused:
    """Read a claim that is to be allocated before any pod uses it: as a pod without requests."""
    placement = placement_of(object_of(claim.get("metadata")))
    return placement if isinstance(placement, Refused) else PodWish(placement=placement)


def _node_wish(spec: JsonObject) -> NodeWish:
    affinity = object_of(object_of(spec.get("affinity")).get("nodeAffinity"))
    required = affinity.get(REQUIRED)
    return NodeWish(
        tolerations=tolerations_of(spec),
        labels=tuple(
            sorted((key, str(value)) for key, value in object_of(spec.get("nodeSelector")).items())
        ),
        required=None
        if required is None
        else _selector(object_of(required), path=f"{NODE_AFFINITY}.{REQUIRED}"),
        preferred=tuple(
            (
                _weight(entry, path=f"{NODE_AFFINITY}.{PREFERRED}[{at}]"),
                _selector(
                    {"nodeSelectorTerms": [entry.get("preference") or {}]},
                    path=f"{NODE_AFFINITY}.{PREFERRED}[{at}].preference",
                ),
            )
            for at, entry in enumerate(objects_of(affinity.get(PREFERRED)))
        ),
    )


def _selector(raw: JsonObject, *, path: str) -> NodeSelector:
    selector = decode_node_selector(raw, path=path)
    try:
        check_selector(selector)
    except NodeSelectorError as error:
        raise DecodeError(path, str(error)) from error
    return selector


def _weight(entry: JsonObject, *, path: str) -> int:
    weight = entry.get("weight")
    if isinstance(weight, bool) or not isinstance(weight, int):
        raise DecodeError(f"{path}.weight", f"expected a whole number, got {weight!r}")
    return weight
