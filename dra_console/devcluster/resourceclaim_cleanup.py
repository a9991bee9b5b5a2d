"""The resourceclaim controller's part for one claim: reservations, devices, the claim itself.

See `dra-semantics.md` 4.4. The order of the writes is Kubernetes': first the status, then the
finalizer, then the claim, so that a crash between them never leaves a claim without its
finalizer but with its devices.
"""

from dataclasses import dataclass

from dra_console.allocator.model import JsonObject
from dra_console.devcluster.claims import FINALIZER, LifeCycleClaim
from dra_console.devcluster.errors import NotFoundError
from dra_console.devcluster.fields import inside
from dra_console.devcluster.pods import Pod
from dra_console.devcluster.resourceclaim_rules import clean_up
from dra_console.devcluster.store import Store
from dra_console.kube.kinds import PODS, RESOURCE_CLAIMS


@dataclass(frozen=True, slots=True)
class ClaimCleanUp:
    """Takes back what pods no longer use."""

    store: Store

    def sync(self, stored: JsonObject) -> None:
        """Do to a stored claim what `clean_up` decides.

        Raises:
            DecodeError: the claim or one of its pods cannot be read.
            StatusError: a write was refused.
            UnknownConsumerError: a consumer is not a pod; nothing was changed.

        """
        claim = LifeCycleClaim.read(stored)
        namespace, name = claim.claim.namespace, claim.claim.name

        def pod_named(pod_name: str) -> Pod | None:
            try:
                return Pod.read(self.store.stored(PODS, namespace, pod_name).value)
            except NotFoundError:
                return None

        step = clean_up(claim, pod_named=pod_named)
        if step.dropped or step.deallocates:
            _release(stored, dropped=step.dropped, deallocates=step.deallocates)
            stored = self.store.update(RESOURCE_CLAIMS, stored, subresource="status")
        if step.removes_finalizer:
            metadata = inside(stored, "metadata")
            kept = [entry for entry in metadata.texts("finalizers") if entry != FINALIZER]
            metadata.raw["finalizers"] = [*kept]
            self.store.update(RESOURCE_CLAIMS, stored)
        if step.deletes:
            self.store.delete(RESOURCE_CLAIMS, namespace, name, uid=claim.claim.uid)


def _release(stored: JsonObject, *, dropped: frozenset[str], deallocates: bool) -> None:
    status = inside(stored, "status")
    kept = [
        entry.raw for entry in status.children("reservedFor") if entry.text("uid") not in dropped
    ]
    status.raw.pop("reservedFor", None)
    if kept:
        status.raw["reservedFor"] = [*kept]
    if deallocates:
        status.raw.pop("allocation", None)
        status.raw.pop("devices", None)
