"""What the resourceclaim controller decides, apart from reading and writing objects.

Restates `dra-semantics.md` 4.2 (template to claim) and 4.4 (clean-up and deallocation). Every
function is pure, so that each rule can be tested as a sentence.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from dra_console.allocator.model import ConsumerReference, JsonObject
from dra_console.devcluster.claims import (
    CONSUMERS_LIMIT,
    POD_CLAIM_NAME_ANNOTATION,
    LifeCycleClaim,
)
from dra_console.devcluster.fields import inside
from dra_console.devcluster.pods import Pod, PodClaim

GENERATED_BASE_LIMIT: Final = 57
"""Longest `generateName`: 63 characters of a DNS label less the random five and the hyphen."""


class UnknownConsumerError(Exception):
    """A claim is reserved for something that is not a pod; nothing can be decided about it."""


def generate_name(pod_name: str, *, pod_claim_name: str) -> str:
    """Build `metadata.generateName` of the claim for one entry of a pod.

    Both names are cut in proportion where the whole is too long, and the last hyphen is left
    out then.
    """
    whole = f"{pod_name}-{pod_claim_name}-"
    if len(whole) <= GENERATED_BASE_LIMIT:
        return whole
    pod_length = len(pod_name) * GENERATED_BASE_LIMIT // len(whole)
    claim_length = len(pod_claim_name) * GENERATED_BASE_LIMIT // len(whole)
    return f"{pod_name[:pod_length]}-{pod_claim_name[:claim_length]}"


def claim_from_template(template: JsonObject, *, pod: Pod, pod_claim_name: str) -> JsonObject:
    """Build the claim that a template describes for one entry of a pod.

    Raises:
        DecodeError: the template's metadata cannot be read.

    """
    labels = inside(template, "spec", "metadata").text_map("labels")
    annotations = inside(template, "spec", "metadata").text_map("annotations")
    metadata: JsonObject = {
        "generateName": generate_name(pod.name, pod_claim_name=pod_claim_name),
        "namespace": pod.namespace,
        "annotations": {**annotations, POD_CLAIM_NAME_ANNOTATION: pod_claim_name},
        "ownerReferences": [
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "name": pod.name,
                "uid": pod.uid,
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ],
    }
    if labels:
        metadata["labels"] = {**labels}
    return {"metadata": metadata, "spec": inside(template, "spec").raw.get("spec")}


def is_generated_for(claim: LifeCycleClaim, *, pod: Pod) -> bool:
    """Tell whether the pod is the claim's controller, by uid."""
    owner = claim.owner
    return claim.claim.namespace == pod.namespace and owner is not None and owner.uid == pod.uid


def generated_claim(
    pod_claim: PodClaim, *, pod: Pod, claims: Iterable[LifeCycleClaim]
) -> LifeCycleClaim | None:
    """Find the claim that serves an entry of the pod.

    The one that the pod's status records wins if it still exists and is the pod's own.
    Any other that was made for the entry is taken next: it is what a controller leaves that
    died between creating the claim and recording it.
    """
    own = [
        claim
        for claim in claims
        if is_generated_for(claim, pod=pod) and not claim.claim.is_deleting
    ]
    recorded = pod.claim_names.get(pod_claim.name)
    for claim in own:
        if claim.claim.name == recorded:
            return claim
    return next((claim for claim in own if claim.pod_claim_name == pod_claim.name), None)


def is_in_use(consumer: ConsumerReference, *, pod: Pod | None) -> bool:
    """Tell whether a reservation still counts; `pod` is what has the consumer's name now.

    Raises:
        UnknownConsumerError: the consumer is not a pod.

    """
    if consumer.api_group or consumer.resource != "pods":
        kind = f"{consumer.resource}.{consumer.api_group}".rstrip(".")
        raise UnknownConsumerError(
            f"reserved for {kind} {consumer.name}, of which nothing is known"
        )
    return pod is not None and pod.uid == consumer.uid and pod.may_use_claims


@dataclass(frozen=True, slots=True)
class CleanUp:
    """What becomes of a claim, in this order; all false = nothing is to be done."""

    dropped: frozenset[str] = frozenset()
    """Uids of consumers whose reservation goes."""

    deallocates: bool = False
    """Clear `status.allocation` and `status.devices`, in the same write as `dropped`."""

    removes_finalizer: bool = False
    deletes: bool = False


def clean_up(claim: LifeCycleClaim, *, pod_named: Callable[[str], Pod | None]) -> CleanUp:
    """Decide what becomes of a claim; `pod_named` looks up a pod of its namespace.

    An allocated claim that was never reserved is left alone: only the step from used to
    unused deallocates. A claim made by hand stays, a generated one goes with its pod's work.

    Raises:
        UnknownConsumerError: a consumer is not a pod; then nothing at all may change.

    """
    reserved_for = claim.claim.reserved_for
    dropped = frozenset(
        consumer.uid
        for consumer in reserved_for
        if not is_in_use(consumer, pod=pod_named(consumer.name))
    )
    if len(dropped) < len(reserved_for):
        return CleanUp(dropped=dropped)
    is_allocated = claim.claim.allocation is not None
    releases = bool(dropped) or (claim.claim.is_deleting and claim.has_finalizer)
    return CleanUp(
        dropped=dropped,
        deallocates=releases and is_allocated,
        removes_finalizer=releases and claim.has_finalizer,
        deletes=not claim.claim.is_deleting and _owner_is_done(claim, pod_named=pod_named),
    )


def _owner_is_done(claim: LifeCycleClaim, *, pod_named: Callable[[str], Pod | None]) -> bool:
    owner = claim.owner
    if owner is None or not owner.is_pod:
        return False
    pod = pod_named(owner.name)
    # An owner that is not there at all is the garbage collector's business.
    return pod is not None and (pod.uid != owner.uid or not pod.may_use_claims)


def refusal(claim: LifeCycleClaim) -> str | None:
    """Tell why no pod can be added to the consumers of an allocated claim; `None` = one can."""
    if claim.claim.is_deleting:
        return f"claim {claim.key} is being deleted"
    held = len(claim.claim.reserved_for)
    if held >= CONSUMERS_LIMIT:
        return f"claim {claim.key} has {held} of {CONSUMERS_LIMIT} consumers"
    return None
