"""Which nodes a pod could run on, devices aside, and which of them is tried first.

Follows kube-scheduler's filters for readiness, cordons, taints, `nodeSelector`, required
node affinity, cpu, memory and pod count. Each node that is left out says why, since the
claim page shows it beside the device reasons.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import structlog

from dra_console.allocator.api_json import object_of, objects_of
from dra_console.allocator.decoding.decode import decode_node, decode_node_selector
from dra_console.allocator.errors import QuantityError
from dra_console.allocator.model import Json, JsonObject
from dra_console.allocator.quantity import Quantity
from dra_console.allocator.world.nodes import selects
from dra_console.mirror.models import Node, Pod

COUNTED = ("cpu", "memory", "ephemeral-storage")
NOTHING = Quantity(0)

log = structlog.get_logger()


@dataclass(slots=True)
class NodeUse:
    """What the pods bound to one node ask for, and how many there are."""

    requested: dict[str, Quantity] = field(default_factory=lambda: defaultdict(lambda: NOTHING))
    pods: int = 0


@dataclass(frozen=True)
class Candidate:
    """A node as long as a run lasts: what it offers is read once for all pods."""

    node: Node

    @cached_property
    def offered(self) -> dict[str, Quantity]:
        """What of the counted resources the node has at all, and how many pods it takes.

        Raises:
            QuantityError: an amount is none.

        """
        allocatable = object_of(object_of(self.node.raw.get("status")).get("allocatable"))
        return _quantities({name: allocatable.get(name) for name in ("pods", *COUNTED)})


@dataclass(frozen=True)
class PodNeeds:
    """A pod that looks for a node: what it requests is added up once for all nodes."""

    pod: JsonObject

    @cached_property
    def requests(self) -> dict[str, Quantity]:
        """What it requests at its peak.

        Raises:
            QuantityError: a request is not a quantity.

        """
        return requests_of(self.pod)


def use_of_nodes(pods: Iterable[Pod]) -> dict[str, NodeUse]:
    """Sum the requests of bound, unfinished pods by node.

    Of a pod whose requests cannot be read, only that it is there is counted.
    """
    uses: dict[str, NodeUse] = defaultdict(NodeUse)
    for pod in pods:
        if pod.node_name and pod.phase not in {"Succeeded", "Failed"}:
            try:
                add_pod(uses[pod.node_name], pod.raw)
            except QuantityError as error:
                uses[pod.node_name].pods += 1
                log.warning("requests not counted", pod=str(pod), error=str(error))
    return uses


def add_pod(use: NodeUse, pod: JsonObject) -> None:
    """Count one more pod on a node."""
    for name, amount in requests_of(pod).items():
        use.requested[name] = use.requested[name] + amount
    use.pods += 1


def requests_of(pod: JsonObject) -> dict[str, Quantity]:
    """Compute what a pod requests at its peak, overhead included.

    Init containers run one by one, before the others; those that restart always (sidecars)
    go on running beside all that come after them.

    Raises:
        QuantityError: a request is not a quantity.

    """
    spec = object_of(pod.get("spec"))
    running: dict[str, Quantity] = defaultdict(lambda: NOTHING)
    peak: dict[str, Quantity] = defaultdict(lambda: NOTHING)
    for container in objects_of(spec.get("initContainers")):
        for name, amount in _requests(container).items():
            peak[name] = max(peak[name], running[name] + amount)
            if container.get("restartPolicy") == "Always":
                running[name] = running[name] + amount
    for container in objects_of(spec.get("containers")):
        for name, amount in _requests(container).items():
            running[name] = running[name] + amount
    total = {name: max(peak[name], running[name]) for name in {*peak, *running}}
    for name, amount in _quantities(spec.get("overhead")).items():
        total[name] = total.get(name, NOTHING) + amount
    return total


def why_not(candidate: Candidate, needs: PodNeeds, use: NodeUse) -> str | None:
    """Name the first reason why the pod cannot run on the node; None: it can.

    Raises:
        AllocatorError: the pod's requests or its node affinity cannot be read.

    """
    node = candidate.node
    if node.ready is not True:
        return "the node is not ready" if node.ready is False else "the node's state is not known"
    if node.unschedulable:
        return "the node is cordoned"
    spec = object_of(needs.pod.get("spec"))
    if taint := _untolerated_taint(node.raw, objects_of(spec.get("tolerations"))):
        return f"the node has taint {taint}, which the pod does not tolerate"
    if not _selected(node, spec):
        return "the pod's node selector or affinity does not match the node"
    return _lacking(candidate, needs, use)


def by_preference(nodes: Iterable[Node], *, held_devices: Mapping[str, int]) -> list[Node]:
    """Order nodes: those with most held devices first (pack), then by name."""
    return sorted(nodes, key=lambda node: (-held_devices.get(node.name, 0), node.name))


def _lacking(candidate: Candidate, needs: PodNeeds, use: NodeUse) -> str | None:
    try:
        limits = candidate.offered
    except QuantityError as error:
        return f"what the node offers cannot be read: {error}"
    if "pods" in limits and Quantity.of(use.pods + 1) > limits["pods"]:
        return f"the node runs {use.pods} pods and takes no more"
    wanted = needs.requests
    for name in COUNTED:
        if name not in limits or wanted.get(name, NOTHING) == NOTHING:
            continue
        left = limits[name] - use.requested[name]
        if wanted[name] > left:
            return f"insufficient {name}: {wanted[name]} wanted, {left} left"
    return None


def _selected(node: Node, spec: Mapping[str, Json]) -> bool:
    labels = object_of(object_of(node.raw.get("metadata")).get("labels"))
    wanted = object_of(spec.get("nodeSelector"))
    if any(labels.get(key) != value for key, value in wanted.items()):
        return False
    affinity = object_of(object_of(spec.get("affinity")).get("nodeAffinity"))
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if required is None:
        return True
    return selects(decode_node_selector(required), node=decode_node(node.raw))


def _untolerated_taint(node: JsonObject, tolerations: Sequence[Mapping[str, Json]]) -> str | None:
    for taint in objects_of(object_of(node.get("spec")).get("taints")):
        if taint.get("effect") not in {"NoSchedule", "NoExecute"}:
            continue
        if not any(_tolerates(toleration, taint) for toleration in tolerations):
            return f"{taint.get('key')}={taint.get('value', '')}:{taint.get('effect')}"
    return None


def _tolerates(toleration: Mapping[str, Json], taint: Mapping[str, Json]) -> bool:
    if toleration.get("effect") not in {None, "", taint.get("effect")}:
        return False
    if toleration.get("key") not in {None, "", taint.get("key")}:
        return False
    if toleration.get("operator", "Equal") == "Exists":
        return True
    return toleration.get("value", "") == taint.get("value", "")


def _requests(container: Mapping[str, Json]) -> dict[str, Quantity]:
    return _quantities(object_of(container.get("resources")).get("requests"))


def _quantities(amounts: Json) -> dict[str, Quantity]:
    return {
        name: Quantity.parse(str(amount))
        for name, amount in object_of(amounts).items()
        if amount is not None
    }
