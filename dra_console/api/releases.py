"""Answer what became of taking a claim's devices back."""

from http import HTTPStatus

from django.contrib.auth.models import AbstractBaseUser

from dra_console.allocator.model import JsonObject
from dra_console.api.problems import Problem
from dra_console.mirror.models import ResourceClaim
from dra_console.scheduling.coexistence.release import Released, Why, release

STATUSES = {
    Why.GONE: HTTPStatus.NOT_FOUND,
    Why.CHANGED: HTTPStatus.PRECONDITION_FAILED,
    Why.IN_USE: HTTPStatus.CONFLICT,
    Why.NOTHING_HELD: HTTPStatus.CONFLICT,
    Why.REFUSED: HTTPStatus.FORBIDDEN,
}


def released(account: AbstractBaseUser, row: ResourceClaim, *, if_match: str | None) -> JsonObject:
    """Release the very claim that the caller saw, and return it as it is stored now.

    Raises:
        Problem: nothing was released; `type` says why.

    """
    if not if_match:
        raise Problem(
            HTTPStatus.PRECONDITION_REQUIRED,
            "precondition-required",
            "Send If-Match with the ETag of the claim, so that only what you saw is released.",
        )
    seen = if_match.strip().removeprefix("W/").strip('"')
    outcome = release(account, row.cluster, row.namespace, row.name, resource_version=seen)
    if isinstance(outcome, Released):
        return outcome.claim
    raise Problem(STATUSES[outcome.why], outcome.why.value, outcome.message)
