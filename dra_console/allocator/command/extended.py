"""Pods that ask for devices by an extended resource, such as `example.com/gpu: 2`.

kube-scheduler makes a claim for them, which depends on the node: where a device plugin
provides the resource, no claim is needed. A pod is asked about with the claim that most nodes
would need; the other nodes are left out, each with the reason.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from dra_console.allocator.command.pods import Pod
from dra_console.allocator.model import ClaimSpec, DeviceClass, ResourceClaim
from dra_console.allocator.quantity import Quantity
from dra_console.allocator.scheduler.extended_resources import (
    NotProvided,
    SpecialClaim,
    special_claim,
)

BY_PLUGIN: Final = "a device plugin of the node provides the extended resources"
OTHERWISE: Final = "the extended resources would need other devices there"


@dataclass(frozen=True, slots=True)
class ExtendedClaim:
    """The claim that kube-scheduler would make, and why it would not on some nodes, by name."""

    claim: ResourceClaim
    resources: tuple[str, ...]
    left_out: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ExtendedResources:
    """Looks at pods beside the classes and nodes of one dump."""

    classes: Sequence[DeviceClass]
    allocatable: Mapping[str, Mapping[str, Quantity]]
    """Of each node, by name."""

    def are_asked_for(self, pod: Pod) -> bool:
        """Tell whether a class stands in for what a pod asks for and does not have yet."""
        is_settled = bool(pod.node_name) or pod.has_special_claim
        return not is_settled and self._on(pod, {}) is not None

    def claim_for(self, pod: Pod) -> ExtendedClaim | None:
        """Make the claim that most nodes would need; `None` if no node needs one."""
        by_node = {name: self._on(pod, each) for name, each in self.allocatable.items()}
        made = {name: each for name, each in by_node.items() if isinstance(each, SpecialClaim)}
        if not made:
            return None
        specs: Counter[ClaimSpec] = Counter(each.claim.spec for each in made.values())
        ((common, _),) = specs.most_common(1)
        chosen = next(each for each in made.values() if each.claim.spec == common)
        return ExtendedClaim(
            claim=replace(chosen.claim, name=f"{pod.name}-extended-resources"),
            resources=tuple(dict.fromkeys(each.resource for each in chosen.mappings)),
            left_out={
                name: reason for name, each in by_node.items() if (reason := _why_not(each, common))
            },
        )

    def _on(
        self, pod: Pod, allocatable: Mapping[str, Quantity]
    ) -> SpecialClaim | NotProvided | None:
        return special_claim(pod.raw, allocatable=allocatable, classes=self.classes)


def _why_not(special: SpecialClaim | NotProvided | None, common: ClaimSpec) -> str:
    if special is None:
        return BY_PLUGIN
    if isinstance(special, NotProvided):
        return str(special)
    return "" if special.claim.spec == common else OTHERWISE
