"""The writes that a plan consists of, each on one claim.

A claim that is not as it was planned with is never written over: `ClaimChangedError` says what
became of it, in kube-scheduler's words.
"""

import secrets
from collections.abc import Callable
from datetime import datetime
from typing import Final

from dra_console.allocator.model import JsonObject
from dra_console.kube.errors import ConflictError, NotFoundError
from dra_console.scheduling.writing.claim_changes import ClaimChangedError, changed_since
from dra_console.scheduling.writing.claim_status import (
    CONSUMERS_LIMIT,
    allocation_of,
    confirmation_of,
    consumers_of,
    has_finalizer,
    is_deleting,
    is_reserved_for,
    is_same_allocation,
    name_of,
    with_allocation,
    with_confirmation,
    with_finalizer,
    with_reservation,
)
from dra_console.scheduling.writing.plan import PodToBind
from dra_console.scheduling.writing.points import WritePoint
from dra_console.scheduling.writing.sending import Writer, put_claim

TRIES: Final = 4
"""How often a reservation is tried anew when other pods reserve the same claim meanwhile."""


class TooManyConsumersError(Exception):
    """The claim is reserved for as many pods as Kubernetes allows."""


def check_room(claim: JsonObject, pod: PodToBind) -> None:
    """Check that the claim can be reserved for one more pod.

    Raises:
        TooManyConsumersError: it cannot.

    """
    if not is_reserved_for(claim, pod) and len(consumers_of(claim)) >= CONSUMERS_LIMIT:
        raise TooManyConsumersError(
            f"claim {name_of(claim)} is reserved for {CONSUMERS_LIMIT} pods, the most that"
            " Kubernetes allows; it takes another one when one of them has ended"
        )


def protect(writer: Writer, claim: JsonObject) -> JsonObject:
    """Put Kubernetes' finalizer on an unallocated claim, so that it does not vanish allocated.

    Raises:
        ClaimChangedError: somebody else changed or deleted it.
        ApiError: as `put_claim`.

    """
    if has_finalizer(claim):
        return claim
    try:
        return put_claim(
            writer,
            WritePoint.FINALIZER,
            with_finalizer(claim),
            stands=lambda live: (
                has_finalizer(live) and allocation_of(live) is None and not is_deleting(live)
            ),
        )
    except (ConflictError, NotFoundError) as error:
        raise changed_since(writer, claim, error) from error


def allocate(
    writer: Writer,
    claim: JsonObject,
    allocation: JsonObject,
    *,
    pod: PodToBind | None,
    at: datetime | None,
) -> JsonObject:
    """Allocate the claim and, with `pod`, reserve it, in one write.

    Raises:
        ClaimChangedError: somebody else changed, allocated or deleted it.
        ApiError: as `put_claim`.

    """

    def stands(live: JsonObject) -> bool:
        is_ours = is_same_allocation(allocation_of(live), allocation)
        return is_ours and (pod is None or is_reserved_for(live, pod))

    try:
        return put_claim(
            writer,
            WritePoint.ALLOCATION,
            with_allocation(claim, allocation, pod=pod, at=at),
            stands=stands,
            subresource="status",
        )
    except (ConflictError, NotFoundError) as error:
        raise changed_since(writer, claim, error) from error


def reserve(writer: Writer, claim: JsonObject, pod: PodToBind) -> JsonObject:
    """Reserve an allocated claim; pods that reserve it at the same time do not stand in the way.

    Raises:
        ClaimChangedError: it lost its allocation, has another one, or is being deleted.
        TooManyConsumersError: others were faster.
        ApiError: as `put_claim`.

    """

    def reserved(live: JsonObject) -> JsonObject:
        if allocation_of(live) is None:
            raise ClaimChangedError(f"claim {name_of(live)} has no devices yet", live)
        check_room(live, pod)
        return put_claim(
            writer,
            WritePoint.RESERVATION,
            with_reservation(live, pod),
            stands=lambda by_now: is_reserved_for(by_now, pod),
            subresource="status",
        )

    return _in_spite_of_others(writer, claim, reserved)


def confirm(writer: Writer, claim: JsonObject, pod: PodToBind) -> JsonObject:
    """Give a claim that is reserved for the pod already another version before the pod is bound.

    Whoever reserved it may have begun to take that back: a run that ended since, or a request
    whose answer was lost. Such a write names the version before, and fails from here on.

    Raises:
        ClaimChangedError: it is no longer allocated so and reserved for the pod.
        ApiError: as `put_claim`.

    """
    token = secrets.token_hex(4)

    def confirmed(live: JsonObject) -> JsonObject:
        if not is_reserved_for(live, pod):
            raise ClaimChangedError(f"claim {name_of(live)} lost pod {pod} in the meantime", live)
        return put_claim(
            writer,
            WritePoint.CONFIRMATION,
            with_confirmation(live, token),
            stands=lambda by_now: confirmation_of(by_now) == token,
        )

    return _in_spite_of_others(writer, claim, confirmed)


def _in_spite_of_others(
    writer: Writer, claim: JsonObject, write: Callable[[JsonObject], JsonObject]
) -> JsonObject:
    """Write on an allocated claim; when it has changed, on what it is now, if allocated alike."""
    planned_with = allocation_of(claim)
    for attempt in range(1, TRIES + 1):
        try:
            return write(claim)
        except (ConflictError, NotFoundError) as error:
            changed = changed_since(writer, claim, error)
            live = changed.claim
            if (
                live is None
                or is_deleting(live)
                or attempt == TRIES
                or not is_same_allocation(allocation_of(live), planned_with)
            ):
                raise changed from error
            claim = live
    raise AssertionError("the last attempt returns or raises")
