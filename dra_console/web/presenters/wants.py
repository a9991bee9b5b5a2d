"""What a claim or template asks for, in few words."""

from dataclasses import dataclass

from dra_console.allocator.decoding.decode import decode_claim_spec
from dra_console.allocator.errors import DecodeError
from dra_console.allocator.model import (
    ALL_DEVICES,
    ClaimSpec,
    DeviceConstraint,
    DeviceRequest,
    DeviceWish,
    Json,
)


@dataclass(frozen=True, slots=True)
class Want:
    """One request, or one of its alternatives."""

    request: str
    """`request`, or `request/subrequest` for an alternative."""

    amount: str
    """A number, or `all`."""

    class_name: str
    selectors: tuple[str, ...]
    """CEL expressions, white space folded."""

    is_admin: bool


@dataclass(frozen=True, slots=True)
class Wants:
    """All requests of a claim and what ties their devices together."""

    wants: tuple[Want, ...]
    ties: tuple[str, ...]
    """Such as `same pcieRoot`."""

    problem: str
    """Why the spec cannot be read; then the rest is empty."""


def wants_of(spec: Json) -> Wants:
    """Read `spec` of a claim, or `spec.spec` of a template."""
    try:
        decoded = decode_claim_spec(spec)
    except DecodeError as error:
        return Wants(wants=(), ties=(), problem=str(error))
    return Wants(
        wants=tuple(want for request in decoded.requests for want in _wants(request)),
        ties=tuple(_tie(constraint, decoded) for constraint in decoded.constraints),
        problem="",
    )


def _wants(request: DeviceRequest) -> list[Want]:
    if request.exactly is not None:
        return [_want(request.name, request.exactly)]
    return [_want(f"{request.name}/{sub.name}", sub.wish) for sub in request.first_available]


def _want(request: str, wish: DeviceWish) -> Want:
    return Want(
        request=request,
        amount="all" if wish.allocation_mode == ALL_DEVICES else str(wish.count),
        class_name=wish.device_class_name,
        selectors=tuple(" ".join((text or "").split()) for text in wish.selectors),
        is_admin=wish.admin_access,
    )


def _tie(constraint: DeviceConstraint, spec: ClaimSpec) -> str:
    word = "same" if constraint.match_attribute else "different"
    attribute = constraint.match_attribute or constraint.distinct_attribute or ""
    name = attribute.rsplit("/", 1)[-1]
    covers_all = not constraint.requests or len(constraint.requests) == len(spec.requests)
    return f"{word} {name}" if covers_all else f"{word} {name} for {', '.join(constraint.requests)}"
