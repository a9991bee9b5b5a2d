"""What waits as one: a pod with its claims, or a claim that no waiting pod names.

A pod is known to wait before its claims exist: the claim of a template is made by a controller,
and a claim that a pod names may never come. Such a pod is a subject with a hindrance.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

from dra_console.allocator.api_json import object_of, objects_of
from dra_console.allocator.model import Json, JsonObject, ResourceClaim

PLACING_FIELDS: Final = (
    "schedulerName",
    "nodeSelector",
    "affinity",
    "tolerations",
    "overhead",
    "resources",
)
"""Of a pod's spec: what decides on which nodes it can run, its containers' wants aside."""

CONTAINERS: Final = ("containers", "initContainers")


@dataclass(frozen=True, slots=True)
class Subject:
    """A pod with its claims in the order of its spec, or one claim without a pod."""

    namespace: str
    claims: tuple[ResourceClaim, ...] = ()
    """Those that exist and can be read, allocated ones among them."""

    pod_uid: str = ""
    pod_name: str = ""
    pod_spec: JsonObject = field(default_factory=dict)
    hindrance: str = ""
    """What has to change before it can be tried; empty: nothing."""

    @property
    def uid(self) -> str:
        """Name the pod, or the claim that stands alone."""
        return self.pod_uid or self.claims[0].uid

    @property
    def claim_names(self) -> list[str]:
        """Name the claims in their order, as stand-ins count them."""
        return [claim.name for claim in self.claims]

    @property
    def pending(self) -> tuple[ResourceClaim, ...]:
        """List the claims that lack devices."""
        return tuple(claim for claim in self.claims if claim.allocation is None)


class PodRow(Protocol):
    """What is asked of a pod: `mirror.models.Pod` has it."""

    @property
    def uid(self) -> str: ...

    @property
    def namespace(self) -> str: ...

    @property
    def name(self) -> str: ...

    @property
    def claim_names(self) -> Mapping[str, str]: ...

    @property
    def raw(self) -> JsonObject: ...


class Named(NamedTuple):
    """An object of a namespace."""

    namespace: str
    name: str


def subjects_of(
    pods: Iterable[PodRow],
    claims: Iterable[ResourceClaim],
    *,
    templates: frozenset[Named],
    unreadable: frozenset[Named] = frozenset(),
) -> Iterator[Subject]:
    """List the pods that wait, then the pending claims that none of them names.

    `pods` have no node and have not ended; `templates` are the ResourceClaimTemplates there are,
    `unreadable` the claims that are there and not among `claims`. A pod whose claims cannot be
    told from its spec is passed over, its claims are not.
    """
    by_name = {Named(claim.namespace, claim.name): claim for claim in claims}
    known = _Known(by_name, templates, unreadable)
    used: set[str] = set()
    for pod in pods:
        subject = _of_pod(pod, known)
        if subject is not None:
            used.update(claim.uid for claim in subject.claims)
            yield subject
    for claim in by_name.values():
        if claim.allocation is None and not claim.is_deleting and claim.uid not in used:
            yield Subject(claim.namespace, (claim,))


def signature_of(subject: Subject) -> str:
    """Hash what is asked for: equal for subjects that fit or do not for the same reasons.

    Names of pending claims, of pods and of namespaces do not count. A claim that has devices
    counts by its identity, since it binds the pod to its node.
    """
    asked: list[Json] = [
        repr(claim.spec) if claim.allocation is None else claim.uid for claim in subject.claims
    ]
    spec = subject.pod_spec
    placing: JsonObject = {name: spec[name] for name in PLACING_FIELDS if spec.get(name)}
    wants: list[Json] = [
        [kind, container.get("resources"), container.get("ports")]
        for kind in CONTAINERS
        for container in objects_of(spec.get(kind))
    ]
    said = json.dumps([asked, placing, wants, subject.hindrance], sort_keys=True)
    return hashlib.sha256(said.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class _Known:
    claims: Mapping[Named, ResourceClaim]
    templates: frozenset[Named]
    unreadable: frozenset[Named]


def _of_pod(pod: PodRow, known: _Known) -> Subject | None:
    spec = object_of(pod.raw.get("spec"))
    found: list[ResourceClaim] = []
    hindrances: list[str] = []
    needless = _needless(pod.raw)
    for entry in objects_of(spec.get("resourceClaims")):
        own_name = entry.get("name")
        if not isinstance(own_name, str):
            return None
        if own_name in needless:
            continue
        name = Named(pod.namespace, pod.claim_names.get(own_name) or "")
        claim = known.claims.get(name)
        if claim is None:
            hindrances.append(_missing(entry, name, known))
            continue
        found.append(claim)
        if claim.is_deleting:
            hindrances.append(f"claim {claim.name} is being deleted")
    if gates := objects_of(spec.get("schedulingGates")):
        names = ", ".join(str(gate.get("name")) for gate in gates)
        hindrances.append(f"the pod is held back by its scheduling gates: {names}")
    if not found and not hindrances:
        return None
    return Subject(
        pod.namespace,
        tuple(found),
        pod_uid=pod.uid,
        pod_name=pod.name,
        pod_spec=spec,
        hindrance="; ".join(hindrances),
    )


def _needless(pod: JsonObject) -> set[str]:
    """Name the pod's claims that turned out not to be needed (`resourceClaimStatuses`)."""
    statuses = objects_of(object_of(pod.get("status")).get("resourceClaimStatuses"))
    return {str(each.get("name")) for each in statuses if not each.get("resourceClaimName")}


def _missing(entry: JsonObject, claim: Named, known: _Known) -> str:
    """Say what is missing of one of a pod's claims, and so what to do."""
    if claim in known.unreadable:
        return f"claim {claim.name} cannot be read"
    if claim.name:
        return f"there is no claim {claim.name}"
    template = str(entry.get("resourceClaimTemplateName") or "")
    if template and Named(claim.namespace, template) not in known.templates:
        return f"there is no ResourceClaimTemplate {template}"
    return f"the claim for {entry.get('name')} is not made yet"
