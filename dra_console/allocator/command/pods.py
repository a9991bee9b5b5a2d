"""What of a pod says which claims belong together.

A pod refers to a claim by name, or to a template of which the resourceclaim controller makes
a claim; the name of that claim stands in the pod's status. The special claim that
kube-scheduler makes for extended resources stands in the status alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from dra_console.allocator.api_json import JsonObject
from dra_console.allocator.decoding.reading import Fields
from dra_console.allocator.scheduler.extended_resources import special_claim

FINISHED: Final = frozenset({"Succeeded", "Failed"})


@dataclass(frozen=True, slots=True)
class PodClaim:
    """One entry of `spec.resourceClaims`. Exactly one of claim and template is asked for.

    `claim_name` is `None` where the pod asks for a template of which no claim was made yet;
    `is_needless` tells that the template asks for nothing, so that no claim is made.
    """

    entry: str
    claim_name: str | None
    template_name: str | None
    is_needless: bool = False


@dataclass(frozen=True, slots=True)
class Pod:
    """`node_name` is empty until the pod is bound."""

    namespace: str
    name: str
    claims: tuple[PodClaim, ...]
    node_name: str
    is_finished: bool
    has_special_claim: bool
    """Whether kube-scheduler made the claim for its extended resources."""

    raw: JsonObject = field(compare=False, repr=False)

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return f"{self.namespace}/{self.name}"


def decode_pod(obj: JsonObject) -> Pod:
    """Read a Pod.

    Raises:
        DecodeError: a field is of the wrong kind.

    """
    whole = Fields.at("", obj)
    metadata = whole.child("metadata") or Fields("metadata", {})
    spec = whole.child("spec") or Fields("spec", {})
    status = whole.child("status") or Fields("status", {})
    special_claim(obj, allocatable={}, classes=())  # refuses amounts that are none
    special = tuple(_extended_resource_claim(status))
    return Pod(
        namespace=metadata.text("namespace"),
        name=metadata.text("name"),
        claims=(*_claims(spec, status), *special),
        node_name=spec.text("nodeName"),
        is_finished=status.text("phase") in FINISHED,
        has_special_claim=bool(special),
        raw=obj,
    )


def _claims(spec: Fields, status: Fields) -> Iterator[PodClaim]:
    made = {
        entry.text("name"): entry.optional_text("resourceClaimName")
        for entry in status.children("resourceClaimStatuses")
    }
    for entry in spec.children("resourceClaims"):
        name = entry.text("name")
        template_name = entry.optional_text("resourceClaimTemplateName")
        yield PodClaim(
            entry=name,
            claim_name=entry.optional_text("resourceClaimName") or made.get(name),
            template_name=template_name,
            is_needless=name in made and made[name] is None,
        )


def _extended_resource_claim(status: Fields) -> Iterator[PodClaim]:
    claim = status.child("extendedResourceClaimStatus")
    if claim is not None and claim.has("resourceClaimName"):
        yield PodClaim("extended resources", claim.text("resourceClaimName"), template_name=None)
