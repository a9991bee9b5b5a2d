"""Who a claim is reserved for, and whether they still use it.

The rules are those of kube-controller-manager's resourceclaim controller (`dra-semantics.md`
4.4): a pod that is gone, replaced, finished, or deleted before it had a node does not count.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from dra_console.allocator.model import ConsumerReference
from dra_console.scheduling.coexistence.facts import HeldClaim, PodFacts, World
from dra_console.scheduling.coexistence.findings import PodRef

FINISHED: Final = frozenset({"Succeeded", "Failed"})


class Use(StrEnum):
    """What a consumer does with the claim."""

    USES = "uses"
    DONE = "done"
    """Its reservation is only left over."""

    UNKNOWN = "unknown"
    """It is not a pod, or pods are not known."""


@dataclass(frozen=True, slots=True)
class Consumer:
    """One entry of `status.reservedFor` with what is known of it."""

    use: Use
    pod: PodRef
    node_name: str = ""
    is_leaving: bool = False
    """Its pod is being deleted and has not ended."""

    is_on_lost_node: bool = False
    """Its node is gone or not ready, so nobody says when it ends."""


def consumers_of(claim: HeldClaim, world: World) -> tuple[Consumer, ...]:
    """Judge everybody whom the claim is reserved for."""
    return tuple(_judge(entry, claim=claim, world=world) for entry in claim.reserved_for)


def _judge(entry: ConsumerReference, *, claim: HeldClaim, world: World) -> Consumer:
    if entry.api_group or entry.resource != "pods":
        resource = f"{entry.resource}.{entry.api_group}".rstrip(".")
        return _consumer(Use.UNKNOWN, claim, entry, f"{resource}, of which nothing is known")
    if world.pods is None:
        return _consumer(Use.UNKNOWN, claim, entry, "pods are not known here")
    pod = world.pods.get((claim.namespace, entry.name))
    if pod is None:
        if claim.serves_extended_resource:
            return _consumer(Use.UNKNOWN, claim, entry, "names no claim, so it is not mirrored")
        return _consumer(Use.DONE, claim, entry, "no longer exists", exists=False)
    if ended := _how_it_ended(pod, entry):
        return _consumer(Use.DONE, claim, entry, ended)
    return _living(pod, claim, entry, nodes=world.nodes)


def _how_it_ended(pod: PodFacts, entry: ConsumerReference) -> str:
    """Say why the pod of this name does not use the claim any more; empty: it does."""
    if pod.uid != entry.uid:
        return "another pod has its name now"
    if pod.phase in FINISHED:
        return f"{pod.phase}{_where(pod)}"
    return "deleted before it had a node" if pod.is_deleting and not pod.node_name else ""


def _living(
    pod: PodFacts,
    claim: HeldClaim,
    entry: ConsumerReference,
    *,
    nodes: Mapping[str, bool | None] | None,
) -> Consumer:
    words = f"{pod.phase or 'phase not known'}{_where(pod)}"
    if pod.is_deleting:
        words += ", being deleted"
    lost = ""
    if pod.node_name and nodes is not None:
        if pod.node_name not in nodes:
            lost = "that node is not in the cluster"
        elif nodes[pod.node_name] is False:
            lost = "that node is not ready"
    return Consumer(
        Use.USES,
        PodRef(claim.namespace, entry.name, f"{words}; {lost}" if lost else words),
        node_name=pod.node_name,
        is_leaving=pod.is_deleting,
        is_on_lost_node=bool(lost),
    )


def _where(pod: PodFacts) -> str:
    return f" on {pod.node_name}" if pod.node_name else ", without a node"


def _consumer(
    use: Use, claim: HeldClaim, entry: ConsumerReference, note: str, *, exists: bool = True
) -> Consumer:
    return Consumer(use, PodRef(claim.namespace, entry.name, note, exists=exists))
