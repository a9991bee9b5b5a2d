"""Which claims are asked about, and which of them belong together.

Claims of one pod are allocated together, so they are asked about together as long as the
dump has the pod. A pod may also wait because a claim is missing: that is said, and what its
template asks for is taken as if the claim were there.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Self

from dra_console.allocator.command.extended import ExtendedResources
from dra_console.allocator.command.gathering import DEFAULT_NAMESPACE, Gathering
from dra_console.allocator.command.pods import Pod, PodClaim
from dra_console.allocator.errors import AllocatorError
from dra_console.allocator.model import ResourceClaim, ResourceClaimTemplate


class UnknownNameError(AllocatorError):
    """Something was asked about that the dump does not have."""


@dataclass(frozen=True, slots=True)
class Inquiry:
    """Claims to allocate together. `missing` says what the pod waits for besides devices."""

    title: str
    claims: tuple[ResourceClaim, ...]
    notes: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    pod: Pod | None = None
    templates: Mapping[str, str] = field(default_factory=dict)
    """Those that stand in for claims which are not there yet, by claim, as `namespace/name`."""

    refused: tuple[str, ...] = ()
    """Why the API server would not take what is asked for: place, object, field and reason."""

    left_out: Mapping[str, str] = field(default_factory=dict)
    """Why some nodes are of no use to the pod, by name, as far as its claims decide that."""

    alike: int = 0
    """Others that ask for the same."""

    @property
    def is_waiting(self) -> bool:
        """Tell whether something is still to be allocated or made."""
        return bool(self.missing) or any(claim.allocation is None for claim in self.claims)


@dataclass(frozen=True, slots=True)
class Inquirer:
    """Finds what belongs together in a dump."""

    claims: dict[str, ResourceClaim]
    templates: dict[str, ResourceClaimTemplate]
    pods: Sequence[Pod]
    extended: ExtendedResources
    _of_pod: dict[str, Inquiry] = field(default_factory=dict)

    @classmethod
    def of(cls, gathering: Gathering) -> Self:
        """Look at everything that was gathered; finished pods need no devices any more."""
        extended = ExtendedResources(gathering.classes, gathering.allocatable)
        return cls(
            claims={claim.key: claim for claim in gathering.claims},
            templates={f"{each.namespace}/{each.name}": each for each in gathering.templates},
            pods=[
                pod
                for pod in gathering.pods
                if not pod.is_finished and (pod.claims or extended.are_asked_for(pod))
            ],
            extended=extended,
        )

    def waiting(self) -> tuple[Inquiry, ...]:
        """Ask about every pod that waits, then about pending claims that no pod uses."""
        inquiries = [each for each in map(self._about_pod, self.pods) if each.is_waiting]
        asked = {claim.key for each in inquiries for claim in each.claims}
        alone = (
            self._about_claim(claim)
            for key, claim in self.claims.items()
            if claim.allocation is None and key not in asked
        )
        return (*inquiries, *alone)

    def about_claims(self, names: Iterable[str]) -> tuple[Inquiry, ...]:
        """Ask about named claims, each with the others of its pods.

        Raises:
            UnknownNameError: the dump does not have one of them.

        """
        inquiries: dict[tuple[str, ...], Inquiry] = {}
        for name in names:
            claim = self.claims.get(_in_full(name))
            if claim is None:
                raise UnknownNameError(_unknown("claim", name, self.claims))
            for inquiry in self._about_users(claim) or [self._about_claim(claim)]:
                inquiries.setdefault(tuple(each.key for each in inquiry.claims), inquiry)
        return tuple(inquiries.values())

    def about_templates(self, names: Iterable[str]) -> tuple[Inquiry, ...]:
        """Ask what would become of a claim made from each template.

        Raises:
            UnknownNameError: the dump does not have one of them.

        """
        return tuple(map(self._about_template, names))

    def _about_template(self, name: str) -> Inquiry:
        template = self.templates.get(_in_full(name))
        if template is None:
            raise UnknownNameError(_unknown("template", name, self.templates))
        claim = _stamped(template, name=template.name)
        title = f"A claim from template {claim.key}"
        return Inquiry(title, (claim,), templates={claim.key: claim.key})

    def _about_users(self, claim: ResourceClaim) -> list[Inquiry]:
        return [
            self._about_pod(pod)
            for pod in self.pods
            if any(f"{pod.namespace}/{each.claim_name}" == claim.key for each in pod.claims)
        ]

    def _about_claim(self, claim: ResourceClaim) -> Inquiry:
        notes = list(_deletions([claim]))
        if self.pods and claim.allocation is None:
            notes.append(
                "No waiting or running pod of the dump uses this claim. "
                "kube-scheduler allocates a claim for a pod only."
            )
        return Inquiry(f"Claim {claim.key}", (claim,), notes=tuple(notes))

    def _about_pod(self, pod: Pod) -> Inquiry:
        known = self._of_pod.get(pod.key)
        if known is None:
            known = self._of_pod[pod.key] = self._gather(pod)
        return known

    def _gather(self, pod: Pod) -> Inquiry:
        claims: dict[str, ResourceClaim] = {}
        missing: list[str] = []
        notes: list[str] = []
        for entry in pod.claims:
            claim, problem = self._claim_of(pod, entry)
            if claim is not None:
                claims.setdefault(claim.key, claim)
            if problem:
                (missing if claim is None else notes).append(problem)
        notes.extend(_deletions(claims.values()))
        extended = self.extended.claim_for(pod) if self.extended.are_asked_for(pod) else None
        if extended is not None:
            claims[extended.claim.key] = extended.claim
            notes.append(
                f"Asks for {', '.join(extended.resources)} as an extended resource; "
                "kube-scheduler makes a claim for it."
            )
        if pod.node_name and any(each.allocation is None for each in claims.values()):
            notes.append(
                f"The pod is on node {pod.node_name} already, so kube-scheduler allocates "
                "nothing for it any more. Set no nodeName in a pod with claims."
            )
        names = ", ".join(claims) or "none yet"
        title = f"Pod {pod.key}, {'claim' if len(claims) <= 1 else 'claims'} {names}"
        return Inquiry(
            title,
            tuple(claims.values()),
            notes=tuple(notes),
            missing=tuple(missing),
            pod=pod,
            left_out=extended.left_out if extended is not None else {},
            templates={
                f"{pod.namespace}/{_made_up_name(pod, entry)}": f"{pod.namespace}/{template}"
                for entry in pod.claims
                if entry.claim_name is None and (template := entry.template_name) is not None
            },
        )

    def _claim_of(self, pod: Pod, entry: PodClaim) -> tuple[ResourceClaim | None, str]:
        """Find or make up the claim of an entry, and say what is missing."""
        if entry.is_needless:
            return None, ""
        if entry.claim_name is not None:
            key = f"{pod.namespace}/{entry.claim_name}"
            claim = self.claims.get(key)
            return claim, "" if claim else f"Claim {key} is not there (entry {entry.entry})."
        if entry.template_name is None:
            return None, f"Entry {entry.entry} names neither a claim nor a template."
        key = f"{pod.namespace}/{entry.template_name}"
        template = self.templates.get(key)
        if template is None:
            return None, f"Template {key} is not there (entry {entry.entry})."
        problem = (
            f"Waits for its claim: none was made from template {key} yet (entry "
            f"{entry.entry}). The resourceclaim controller makes it; taken as if it were there."
        )
        return _stamped(template, name=_made_up_name(pod, entry)), problem


def _made_up_name(pod: Pod, entry: PodClaim) -> str:
    return f"{pod.name}-{entry.entry}"


def _stamped(template: ResourceClaimTemplate, *, name: str) -> ResourceClaim:
    return ResourceClaim(template.namespace, name, spec=template.spec)


def _deletions(claims: Iterable[ResourceClaim]) -> Iterator[str]:
    return (f"Claim {claim.key} is being deleted." for claim in claims if claim.is_deleting)


def folded(inquiries: Iterable[Inquiry]) -> list[Inquiry]:
    """Ask once about pods that ask for the same and have, or lack, the same."""
    groups: dict[Hashable, list[Inquiry]] = {}
    for inquiry in inquiries:
        asked = tuple((claim.spec, claim.allocation) for claim in inquiry.claims)
        is_bound = bool(inquiry.pod and inquiry.pod.node_name)
        is_of_pod = inquiry.pod is not None
        nodes = frozenset(inquiry.left_out.items())
        kind = (asked, inquiry.missing, inquiry.refused, is_of_pod, is_bound, nodes)
        groups.setdefault(kind, []).append(inquiry)
    return [replace(group[0], alike=len(group) - 1) for group in groups.values()]


def _in_full(name: str) -> str:
    return name if "/" in name else f"{DEFAULT_NAMESPACE}/{name}"


def _unknown(kind: str, name: str, known: Mapping[str, object]) -> str:
    close = get_close_matches(_in_full(name), known, n=3, cutoff=0.5)
    names = close or sorted(known)[:3]
    hint = f"; it has {', '.join(names)}" if names else f"; it has no {kind} at all"
    return f"{kind} {_in_full(name)} is not in the dump{hint}"
