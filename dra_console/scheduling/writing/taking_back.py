"""The writes that take devices back, each on one claim.

A claim that has changed since it was read or written last is left alone, for whoever changed it
relies on it.
"""

from dra_console.allocator.model import JsonObject
from dra_console.kube.errors import ConflictError, NotFoundError
from dra_console.scheduling.writing.claim_changes import changed_since
from dra_console.scheduling.writing.claim_status import (
    allocation_of,
    consumers_of,
    deallocated,
    has_finalizer,
    without_finalizer,
    without_reservation,
)
from dra_console.scheduling.writing.points import WritePoint
from dra_console.scheduling.writing.sending import Writer, put_claim


def unreserve(writer: Writer, claim: JsonObject, *, pod_uid: str) -> JsonObject:
    """Take a pod's reservation back; the allocation stays.

    Raises:
        ClaimChangedError: it has changed since, or is gone.
        ApiError: as `put_claim`.

    """
    try:
        return put_claim(
            writer,
            WritePoint.RELEASE,
            without_reservation(claim, pod_uid),
            stands=lambda live: all(entry.get("uid") != pod_uid for entry in consumers_of(live)),
            subresource="status",
        )
    except (ConflictError, NotFoundError) as error:
        raise changed_since(writer, claim, error) from error


def free(writer: Writer, claim: JsonObject) -> JsonObject:
    """Take the allocation back with all reservations, and then the finalizer.

    Raises:
        ClaimChangedError: it has changed since it was read or written last, or is gone.
        ApiError: as `put_claim`.

    """
    try:
        freed = put_claim(
            writer,
            WritePoint.RELEASE,
            deallocated(claim),
            stands=lambda live: allocation_of(live) is None,
            subresource="status",
        )
        return unprotect(writer, freed)
    except (ConflictError, NotFoundError) as error:
        raise changed_since(writer, claim, error) from error


def unprotect(writer: Writer, claim: JsonObject) -> JsonObject:
    """Take Kubernetes' finalizer off a claim that is free.

    Raises:
        ConflictError: it has changed since it was read.
        ApiError: as `put_claim`.

    """
    if not has_finalizer(claim):
        return claim
    return put_claim(
        writer,
        WritePoint.FINALIZER_REMOVAL,
        without_finalizer(claim),
        stands=lambda live: not has_finalizer(live),
    )
