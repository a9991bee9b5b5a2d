"""Extended resources that a class stands in for (KEP-5004), which the console makes no claims for.

On a node whose device plugin offers the resource it is counted as any other. Where none does,
kube-scheduler would make a claim; the console says so and leaves the node out.
"""

from collections.abc import Iterable

from dra_console.allocator.model import DeviceClass
from dra_console.allocator.scheduler.extended_resources import class_for, is_extended_resource
from dra_console.scheduling.planning.node_facts import NodeFacts
from dra_console.scheduling.planning.plans import Refused


def serving_class(resource: str, *, classes: Iterable[DeviceClass]) -> DeviceClass | None:
    """Return the class that stands in for a resource where no device plugin offers it."""
    return class_for(resource, classes=classes) if is_extended_resource(resource) else None


def needs_claim(
    requests: Iterable[tuple[str, int]],
    *,
    classes: Iterable[DeviceClass],
    nodes: Iterable[NodeFacts],
) -> Refused | None:
    """Refuse a pod that asks for a resource that no node offers and that a class serves."""
    known = tuple(classes)
    for resource, _ in requests:
        device_class = serving_class(resource, classes=known)
        if device_class is None or any(each.offers.get(resource) for each in nodes):
            continue
        return Refused(
            f"the pod asks for {resource}, which DeviceClass {device_class.name} serves by a "
            "claim that the scheduler makes; dra-console makes none: ask for the class in "
            "spec.resourceClaims instead",
            "spec.containers",
        )
    return None
