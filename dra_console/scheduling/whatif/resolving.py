"""The claims that a scenario's pods would have: names looked up, changes applied.

What the reader may not see is not there: the answer is the same as for a wrong name.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from dra_console.allocator.api_json import JsonObject, object_of
from dra_console.allocator.decoding.decode import decode_claim_spec
from dra_console.allocator.decoding.versions import claim_spec_as_v1, version_of
from dra_console.allocator.errors import DecodeError
from dra_console.allocator.model import ResourceClaim
from dra_console.mirror import models as mirror
from dra_console.scheduling.whatif.patching import patched
from dra_console.scheduling.whatif.pods import ClaimSource, PodShape
from dra_console.scheduling.whatif.rights import Rights
from dra_console.scheduling.whatif.states import State

NO_NAMESPACE: Final = "what-if"
"""Of claims that come from a spec alone."""

StoredClaim = Callable[[str, str, str], JsonObject | None]
"""Finds a claim as it was stored, by namespace, name and UID."""


@dataclass(frozen=True, slots=True)
class Resolver:
    """Looks names up in one state, for one reader."""

    state: State
    rights: Rights
    stored_claim: StoredClaim

    def claims_of(self, pod: PodShape, *, path: str) -> tuple[ResourceClaim, ...]:
        """Return the claims of one pod, unallocated; `path` is where the pod stands.

        Raises:
            DecodeError: a name is not known or a change does not fit.

        """
        return tuple(
            self._claim(source, number, path=f"{path}.claims[{number}]")
            for number, source in enumerate(pod.claims)
        )

    def _claim(self, source: ClaimSource, number: int, *, path: str) -> ResourceClaim:
        namespace, name, spec = NO_NAMESPACE, f"claim-{number}", source.spec or {}
        if source.template is not None:
            namespace, name = source.template
            spec = self._template_spec(namespace, name, path=f"{path}.template")
        elif source.claim is not None:
            namespace, name = source.claim
            spec = self._claim_spec(namespace, name, path=f"{path}.claim")
        if source.patch:
            changed = patched({"spec": spec}, source.patch, path=f"{path}.patch")
            spec = object_of(changed.get("spec"))
        return ResourceClaim(
            namespace=namespace, name=name, spec=decode_claim_spec(spec, path=f"{path}.spec")
        )

    def _template_spec(self, namespace: str, name: str, *, path: str) -> JsonObject:
        raw = self.state.templates.get((namespace, name))
        if raw is None or not self.rights.sees_templates(namespace):
            raise DecodeError(
                path, f"there is no template {namespace}/{name}, or you may not see it"
            )
        return _as_v1(object_of(raw.get("spec")).get("spec"), raw, path=path)

    def _claim_spec(self, namespace: str, name: str, *, path: str) -> JsonObject:
        known = self.state.claims.get(f"{namespace}/{name}")
        raw = None
        if known is not None and self.rights.sees_claims(namespace):
            raw = self.stored_claim(namespace, name, known.uid)
        if raw is None:
            raise DecodeError(path, f"there is no claim {namespace}/{name}, or you may not see it")
        return _as_v1(raw.get("spec"), raw, path=path)


def _as_v1(spec: object, raw: JsonObject, *, path: str) -> JsonObject:
    known = spec if isinstance(spec, dict) else {}
    return object_of(claim_spec_as_v1(known, path=path, api_version=version_of(raw)))


def stored_claims(cluster: mirror.Cluster) -> StoredClaim:
    """Find claims among the mirror's rows. Specs of claims never change, so any version will do."""

    def find(namespace: str, name: str, uid: str) -> JsonObject | None:
        row = mirror.ResourceClaim.objects.filter(
            cluster=cluster, namespace=namespace, name=name, uid=uid
        ).first()
        return None if row is None else row.raw

    return find
