"""Claims with one thing less asked: what a suggestion would have somebody change.

Every relaxation is made twice, as a claim to search with and as a JSON patch (RFC 6902) of
the object in the shape of `resource.k8s.io/v1`, so that it can be applied as it was tried.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from dra_console.allocator.api_json import Json, JsonObject
from dra_console.allocator.cel import text as cel_text
from dra_console.allocator.explanation.constrained import without_constraint
from dra_console.allocator.inventory import Taint
from dra_console.allocator.model import EXACT_COUNT, DeviceWish, ResourceClaim, Toleration


@dataclass(frozen=True, slots=True)
class Relaxation:
    """One change of one or more claims, in words, as claims and as patches by claim."""

    text: str
    claims: tuple[ResourceClaim, ...]
    patches: Mapping[str, tuple[JsonObject, ...]]


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a wish stands: number of the claim, then of the request and of its alternative.

    `path` points there in the object.
    """

    claim: int
    label: str
    request: int
    alternative: int | None
    wish: DeviceWish

    @property
    def path(self) -> str:
        start = f"/spec/devices/requests/{self.request}"
        if self.alternative is None:
            return f"{start}/exactly"
        return f"{start}/firstAvailable/{self.alternative}"


def fewer_devices(
    claims: Sequence[ResourceClaim],
) -> Iterator[tuple[int, Callable[[int], Relaxation]]]:
    """For each request for several devices: how many it wants, and the change to a number."""
    for number, claim in enumerate(claims):
        for place in _places(claim, number):
            count = place.wish.count
            if place.wish.allocation_mode != EXACT_COUNT or count < 2:  # noqa: PLR2004
                continue

            yield count, partial(_with_count, claims, place)


def _with_count(claims: Sequence[ResourceClaim], place: _Place, fewer: int) -> Relaxation:
    wanted = place.wish.count
    return _changed(
        claims,
        place,
        replace(place.wish, count=fewer),
        text=f"Ask for {fewer} instead of {wanted} devices in request {place.label}"
        f"{_of(claims, claims[place.claim])}",
        patch=_op("add", f"{place.path}/count", fewer),
    )


def fewer_constraints(claims: Sequence[ResourceClaim]) -> Iterator[Relaxation]:
    """Leave out each constraint."""
    for number, claim in enumerate(claims):
        for index, constraint in enumerate(claim.spec.constraints):
            kind = "same" if constraint.match_attribute else "different"
            attribute = constraint.match_attribute or constraint.distinct_attribute
            patch = _op("remove", f"/spec/devices/constraints/{index}")
            yield Relaxation(
                text=f"Drop the constraint{_of(claims, claim)}: {kind} {attribute}",
                claims=_with(claims, number, without_constraint(claim, index)),
                patches={claim.key: (patch,)},
            )


def fewer_clauses(claims: Sequence[ResourceClaim]) -> Iterator[Relaxation]:
    """Leave out each top-level clause of each selector of a request."""
    for number, claim in enumerate(claims):
        for place in _places(claim, number):
            for position, expression in enumerate(place.wish.selectors):
                yield from _without_each_clause(claims, place, position, expression or "")


def _without_each_clause(
    claims: Sequence[ResourceClaim], place: _Place, position: int, expression: str
) -> Iterator[Relaxation]:
    clauses = cel_text.clauses(expression)
    for left_out, clause in enumerate(clauses):
        rest = " && ".join(f"({each})" for each in clauses[:left_out] + clauses[left_out + 1 :])
        selectors = list(place.wish.selectors)
        selectors[position : position + 1] = [rest] if rest else []
        path = f"{place.path}/selectors/{position}"
        patch = _op("replace", f"{path}/cel/expression", rest) if rest else _op("remove", path)
        wish = replace(place.wish, selectors=tuple(selectors))
        text = f"Drop the condition {clause}{_of(claims, claims[place.claim])}"
        yield _changed(claims, place, wish, text=text, patch=patch)


def tolerating(claims: Sequence[ResourceClaim], taint: Taint) -> Relaxation:
    """Tolerate a taint in every request."""
    toleration = Toleration(key=taint.key, operator="Equal", value=taint.value, effect=taint.effect)
    changed: list[ResourceClaim] = []
    patches: dict[str, tuple[JsonObject, ...]] = {}
    for number, claim in enumerate(claims):
        tolerant = claim
        patch = []
        for place in _places(claim, number):
            tolerations = (*place.wish.tolerations, toleration)
            listed: list[Json] = [each.to_json() for each in tolerations]
            patch.append(_op("add", f"{place.path}/tolerations", listed))
            tolerant = _replaced(tolerant, place, replace(place.wish, tolerations=tolerations))
        changed.append(tolerant)
        patches[claim.key] = tuple(patch)
    return Relaxation(f"Tolerate taint {taint}", tuple(changed), patches)


def _places(claim: ResourceClaim, number: int) -> Iterator[_Place]:
    for index, request in enumerate(claim.spec.requests):
        if request.exactly is not None:
            yield _Place(number, request.name, index, None, request.exactly)
            continue
        for place, alternative in enumerate(request.first_available):
            label = f"{request.name}/{alternative.name}"
            yield _Place(number, label, index, place, alternative.wish)


def _changed(
    claims: Sequence[ResourceClaim],
    place: _Place,
    wish: DeviceWish,
    *,
    text: str,
    patch: JsonObject,
) -> Relaxation:
    claim = claims[place.claim]
    return Relaxation(
        text=text,
        claims=_with(claims, place.claim, _replaced(claim, place, wish)),
        patches={claim.key: (patch,)},
    )


def _of(claims: Sequence[ResourceClaim], claim: ResourceClaim) -> str:
    """Name the claim of a change, where the pod has several."""
    return f" of claim {claim.name}" if len(claims) > 1 else ""


def _with(
    claims: Sequence[ResourceClaim], number: int, changed: ResourceClaim
) -> tuple[ResourceClaim, ...]:
    return (*claims[:number], changed, *claims[number + 1 :])


def _replaced(claim: ResourceClaim, place: _Place, wish: DeviceWish) -> ResourceClaim:
    requests = list(claim.spec.requests)
    request = requests[place.request]
    if place.alternative is None:
        requests[place.request] = replace(request, exactly=wish)
    else:
        alternatives = list(request.first_available)
        alternatives[place.alternative] = replace(alternatives[place.alternative], wish=wish)
        requests[place.request] = replace(request, first_available=tuple(alternatives))
    return replace(claim, spec=replace(claim.spec, requests=tuple(requests)))


def _op(kind: str, path: str, *value: Json) -> JsonObject:
    operation: JsonObject = {"op": kind, "path": path}
    if value:
        operation["value"] = value[0]
    return operation
