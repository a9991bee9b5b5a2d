"""What the controllers of the embedded cluster read of a ResourceClaim."""

from dataclasses import dataclass
from typing import Final, Self

from dra_console.allocator.decoding.decode import decode_claim
from dra_console.allocator.decoding.reading import Fields
from dra_console.allocator.model import JsonObject, ResourceClaim
from dra_console.devcluster.fields import inside

FINALIZER: Final = "resource.kubernetes.io/delete-protection"
POD_CLAIM_NAME_ANNOTATION: Final = "resource.kubernetes.io/pod-claim-name"
CONSUMERS_LIMIT: Final = 256
"""Most entries of `status.reservedFor` (resource/v1 ResourceClaimReservedForMaxSize)."""


@dataclass(frozen=True, slots=True)
class Owner:
    """The owner reference that has `controller: true`."""

    api_version: str
    kind: str
    name: str
    uid: str

    @property
    def is_pod(self) -> bool:
        return self.api_version == "v1" and self.kind == "Pod"


@dataclass(frozen=True, slots=True)
class LifeCycleClaim:
    """A claim with those parts of its metadata that its life cycle depends on."""

    claim: ResourceClaim
    has_finalizer: bool
    owner: Owner | None
    pod_claim_name: str | None
    """From the annotation of generated claims: which entry of the pod this claim serves."""

    @property
    def key(self) -> str:
        return self.claim.key

    def is_reserved_for(self, uid: str) -> bool:
        return any(consumer.uid == uid for consumer in self.claim.reserved_for)

    @classmethod
    def read(cls, stored: JsonObject) -> Self:
        """Read a stored ResourceClaim.

        Raises:
            DecodeError: a field is not of its type.

        """
        metadata = inside(stored, "metadata")
        annotations = metadata.text_map("annotations")
        return cls(
            claim=decode_claim(stored),
            has_finalizer=FINALIZER in metadata.texts("finalizers"),
            owner=_controller(metadata),
            pod_claim_name=annotations.get(POD_CLAIM_NAME_ANNOTATION),
        )


def _controller(metadata: Fields) -> Owner | None:
    for reference in metadata.children("ownerReferences"):
        if reference.boolean("controller"):
            return Owner(
                api_version=reference.text("apiVersion"),
                kind=reference.text("kind"),
                name=reference.text("name"),
                uid=reference.text("uid"),
            )
    return None
