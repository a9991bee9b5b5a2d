"""The resourceclaim controller's part for one pod: its claims, their names, its reservations.

See `dra-semantics.md` 4.2. Reading, deciding and writing happen without a break in the event
loop, so no other writer can come between; what a crash interrupts, the next pass finds.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from dra_console.allocator.decoding.decode import decode_node
from dra_console.allocator.errors import DecodeError
from dra_console.allocator.model import Json, JsonObject
from dra_console.allocator.world.nodes import selects
from dra_console.devcluster.claims import LifeCycleClaim
from dra_console.devcluster.errors import NotFoundError, StatusError
from dra_console.devcluster.fields import inside
from dra_console.devcluster.pod_events import PodEvents
from dra_console.devcluster.pods import Pod, PodClaim
from dra_console.devcluster.resourceclaim_rules import (
    claim_from_template,
    generated_claim,
    refusal,
)
from dra_console.devcluster.store import Store
from dra_console.kube.kinds import NODES, PODS, RESOURCE_CLAIM_TEMPLATES, RESOURCE_CLAIMS

CREATION_FAILED: Final = "FailedResourceClaimCreation"
RESERVATION_FAILED: Final = "FailedResourceClaimReservation"


class CreationError(Exception):
    """A pod's claim cannot be made now; the pod's event has said why."""


@dataclass(frozen=True, slots=True)
class PodClaims:
    """Gives pods what their `spec.resourceClaims` ask for."""

    store: Store
    events: PodEvents

    def sync(self, pod: Pod) -> None:
        """Create missing claims, record their names, and reserve where no scheduler does.

        Raises:
            AllocatorError: a claim or a node cannot be read.
            CreationError: at least one claim could not be made; the others were.
            StatusError: a write was refused.

        """
        if pod.is_deleting or pod.is_finished:
            return
        names: dict[str, str] = {}
        failures: list[CreationError] = []
        for pod_claim in pod.claims:
            if pod_claim.template_name is None or pod.needs_no_claim(pod_claim.name):
                continue
            try:
                names[pod_claim.name] = self._generated(pod_claim, pod=pod)
            except CreationError as error:
                failures.append(error)
        if any(pod.claim_names.get(entry) != name for entry, name in names.items()):
            self._record({**pod.claim_names, **names}, pod=pod)
        if pod.node_name is not None:
            self._reserve(pod, node_name=pod.node_name, generated=names)
        if failures:
            raise failures[0]

    def _generated(self, pod_claim: PodClaim, *, pod: Pod) -> str:
        """Return the name of the claim for an entry of the pod, made now if need be."""
        try:
            found = generated_claim(pod_claim, pod=pod, claims=self._owned(pod))
            if found is not None:
                return found.claim.name
            template = self._template(pod_claim, pod=pod)
            claim = claim_from_template(template, pod=pod, pod_claim_name=pod_claim.name)
            created = self.store.create(RESOURCE_CLAIMS, claim)
        except (DecodeError, StatusError) as error:
            message = f"PodResourceClaim {pod_claim.name}: {error}"
            self.events.warn(pod, reason=CREATION_FAILED, message=message)
            raise CreationError(message) from error
        return inside(created, "metadata").text("name")

    def _owned(self, pod: Pod) -> Iterator[LifeCycleClaim]:
        version = self.store.resource_version
        for stored in self.store.at(version, RESOURCE_CLAIMS, namespace=pod.namespace):
            # Looking at the owner first spares decoding every claim of the namespace.
            references = inside(stored.value, "metadata").children("ownerReferences")
            if any(reference.text("uid") == pod.uid for reference in references):
                yield LifeCycleClaim.read(stored.value)

    def _template(self, pod_claim: PodClaim, *, pod: Pod) -> JsonObject:
        name = pod_claim.template_name or ""
        return self.store.get(RESOURCE_CLAIM_TEMPLATES, pod.namespace, name)

    def _record(self, names: Mapping[str, str | None], *, pod: Pod) -> None:
        entries: list[Json] = [
            {"name": entry} if name is None else {"name": entry, "resourceClaimName": name}
            for entry, name in names.items()
        ]
        stored = self.store.get(PODS, pod.namespace, pod.name)
        stored["status"] = {**inside(stored, "status").raw, "resourceClaimStatuses": entries}
        self.store.update(PODS, stored, subresource="status")

    def _reserve(self, pod: Pod, *, node_name: str, generated: Mapping[str, str]) -> None:
        """Add a pod that has its node already to the consumers of its allocated claims."""
        for pod_claim in pod.claims:
            name = pod_claim.claim_name or generated.get(pod_claim.name)
            if name is None:
                continue
            try:
                stored = self.store.get(RESOURCE_CLAIMS, pod.namespace, name)
            except NotFoundError:
                continue
            claim = LifeCycleClaim.read(stored)
            if claim.is_reserved_for(pod.uid) or not self._is_allocated_for(
                claim, node_name=node_name
            ):
                continue
            reason = refusal(claim)
            if reason is not None:
                self.events.warn(pod, reason=RESERVATION_FAILED, message=reason)
                continue
            status = inside(stored, "status").raw
            consumers: list[Json] = [
                entry for _, entry in inside(stored, "status").items("reservedFor")
            ]
            consumers.append({"resource": "pods", "name": pod.name, "uid": pod.uid})
            stored["status"] = {**status, "reservedFor": consumers}
            self.store.update(RESOURCE_CLAIMS, stored, subresource="status")

    def _is_allocated_for(self, claim: LifeCycleClaim, *, node_name: str) -> bool:
        allocation = claim.claim.allocation
        if allocation is None:
            return False
        if allocation.node_selector is None:
            return True
        try:
            node = decode_node(self.store.get(NODES, "", node_name))
        except NotFoundError:
            return False
        return selects(allocation.node_selector, node=node)
