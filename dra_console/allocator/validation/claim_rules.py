"""Rules for the spec of a claim, as it stands in claims and templates.

They are the API server's, with one more: a claim that asks for more than 32 devices is
stored by the server, but no scheduler can ever allocate it, so it is refused here.

A list that is too long is reported alone; its entries are not looked at.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from dra_console.allocator import names
from dra_console.allocator.cel.selectors import (
    EXPRESSION_LIMIT_BYTES,
    CompileFault,
    default_engine,
)
from dra_console.allocator.inventory import NO_EXECUTE, NO_SCHEDULE
from dra_console.allocator.model import (
    ALL_DEVICES,
    DEVICES_PER_CLAIM,
    EXACT_COUNT,
    ClaimSpec,
    DeviceConstraint,
    DeviceRequest,
    DeviceWish,
    OpaqueConfig,
    Toleration,
)
from dra_console.allocator.validation.field_errors import FieldErrors

LIST_LIMIT: Final = 32
ALTERNATIVES_LIMIT: Final = 8
TOLERATIONS_LIMIT: Final = 16
PARAMETERS_LIMIT_BYTES: Final = 10_240
EFFECTS: Final = ("None", NO_SCHEDULE, NO_EXECUTE)
ONE_OF: Final = "exactly one of `exactly` or `firstAvailable` is required"


def check_claim_spec(spec: ClaimSpec, errors: FieldErrors, *, path: str) -> None:
    """Check requests, constraints and configuration of a claim."""
    devices = f"{path}.devices"
    if _is_too_long(spec.requests, errors, path=f"{devices}.requests"):
        return
    seen: set[str] = set()
    for index, request in enumerate(spec.requests):
        where = f"{devices}.requests[{index}]"
        _check_name(request.name, errors, path=f"{where}.name", seen=seen)
        _check_request(request, errors, path=where)
    least = sum(_least_devices(request) for request in spec.requests)
    if least > DEVICES_PER_CLAIM:
        errors.too_many(f"{devices}.requests", least, DEVICES_PER_CLAIM, "devices in one claim")
    known = frozenset(_references(spec.requests))
    if not _is_too_long(spec.constraints, errors, path=f"{devices}.constraints"):
        for index, constraint in enumerate(spec.constraints):
            where = f"{devices}.constraints[{index}]"
            _check_constraint(constraint, errors, path=where, known=known)
    if not _is_too_long(spec.config, errors, path=f"{devices}.config"):
        for index, config in enumerate(spec.config):
            where = f"{devices}.config[{index}]"
            _check_references(config.requests, errors, path=f"{where}.requests", known=known)
            check_opaque(config.opaque, errors, path=where)


def check_selectors(selectors: Sequence[str | None], errors: FieldErrors, *, path: str) -> None:
    """Check and compile the selectors of a request or class."""
    if _is_too_long(selectors, errors, path=path):
        return
    for index, expression in enumerate(selectors):
        where = f"{path}[{index}].cel"
        if expression is None:
            errors.required(where)
        elif not expression:
            errors.required(f"{where}.expression")
        else:
            check_expression(expression, errors, path=f"{where}.expression")


def check_expression(expression: str, errors: FieldErrors, *, path: str) -> None:
    """Compile one selector; the message has line and column of what is wrong."""
    if len(expression.encode()) > EXPRESSION_LIMIT_BYTES:
        errors.too_long(path, EXPRESSION_LIMIT_BYTES)
        return
    compiled = default_engine().compile(expression)
    if isinstance(compiled, CompileFault):
        errors.invalid(path, expression, str(compiled))


def check_opaque(opaque: OpaqueConfig | None, errors: FieldErrors, *, path: str) -> None:
    """Check the configuration for one driver; it has to be an object of limited size."""
    if opaque is None:
        errors.required(f"{path}.opaque")
        return
    if not opaque.driver:
        errors.required(f"{path}.opaque.driver")
    _check_format(names.driver_name(opaque.driver), opaque.driver, errors, f"{path}.opaque.driver")
    where = f"{path}.opaque.parameters"
    if opaque.parameters is None:
        errors.required(where)
    elif not isinstance(opaque.parameters, dict):
        errors.invalid(where, opaque.parameters, "must be a valid JSON object")
    elif len(json.dumps(opaque.parameters, separators=(",", ":"))) > PARAMETERS_LIMIT_BYTES:
        errors.too_long(where, PARAMETERS_LIMIT_BYTES)


def _check_request(request: DeviceRequest, errors: FieldErrors, *, path: str) -> None:
    if request.exactly is not None and request.first_available:
        errors.invalid(path, request.name, ONE_OF)
    elif request.exactly is not None:
        _check_wish(request.exactly, errors, path=f"{path}.exactly")
    elif not request.first_available:
        errors.required(path, ONE_OF)
    elif len(request.first_available) > ALTERNATIVES_LIMIT:
        count = len(request.first_available)
        errors.too_many(f"{path}.firstAvailable", count, ALTERNATIVES_LIMIT)
    else:
        seen: set[str] = set()
        for index, alternative in enumerate(request.first_available):
            where = f"{path}.firstAvailable[{index}]"
            _check_name(alternative.name, errors, path=f"{where}.name", seen=seen)
            _check_wish(alternative.wish, errors, path=where)


def _check_wish(wish: DeviceWish, errors: FieldErrors, *, path: str) -> None:
    where = f"{path}.deviceClassName"
    if not wish.device_class_name:
        errors.required(where)
    else:
        found = names.dns_subdomain(wish.device_class_name)
        _check_format(found, wish.device_class_name, errors, where)
    check_selectors(wish.selectors, errors, path=f"{path}.selectors")
    if wish.allocation_mode == EXACT_COUNT:
        if wish.count <= 0:
            errors.invalid(f"{path}.count", wish.count, "must be greater than zero")
    elif wish.allocation_mode == ALL_DEVICES:
        if wish.count != 0:
            detail = "must not be specified when allocationMode is 'All'"
            errors.invalid(f"{path}.count", wish.count, detail)
    else:
        errors.not_supported(
            f"{path}.allocationMode", wish.allocation_mode, (ALL_DEVICES, EXACT_COUNT)
        )
    if len(wish.tolerations) > TOLERATIONS_LIMIT:
        errors.too_many(f"{path}.tolerations", len(wish.tolerations), TOLERATIONS_LIMIT)
    else:
        for index, toleration in enumerate(wish.tolerations):
            _check_toleration(toleration, errors, path=f"{path}.tolerations[{index}]")
    for name in wish.capacity or ():
        _check_format(names.qualified_name(name), name, errors, f"{path}.capacity.requests[{name}]")


def _check_toleration(toleration: Toleration, errors: FieldErrors, *, path: str) -> None:
    if toleration.key:
        _check_format(names.label_key(toleration.key), toleration.key, errors, f"{path}.key")
    elif toleration.operator != "Exists":
        errors.invalid(
            f"{path}.operator", toleration.operator, "must be Exists when `key` is empty"
        )
    if toleration.operator == "Exists":
        if toleration.value:
            detail = "must be empty when `operator` is Exists"
            errors.invalid(f"{path}.value", toleration.value, detail)
    elif toleration.operator == "Equal":
        found = names.label_value(toleration.value)
        _check_format(found, toleration.value, errors, f"{path}.value")
    else:
        errors.not_supported(f"{path}.operator", toleration.operator, ("Equal", "Exists"))
    if toleration.effect and toleration.effect not in EFFECTS:
        errors.not_supported(f"{path}.effect", toleration.effect, EFFECTS)


def _check_constraint(
    constraint: DeviceConstraint, errors: FieldErrors, *, path: str, known: frozenset[str]
) -> None:
    _check_references(constraint.requests, errors, path=f"{path}.requests", known=known)
    if constraint.match_attribute is None and constraint.distinct_attribute is None:
        errors.required(path, "exactly one of `matchAttribute` or `distinctAttribute` is required")
    for field, attribute in (
        ("matchAttribute", constraint.match_attribute),
        ("distinctAttribute", constraint.distinct_attribute),
    ):
        if attribute is not None:
            found = names.fully_qualified_name(attribute)
            _check_format(found, attribute, errors, f"{path}.{field}")


def _check_references(
    requests: Sequence[str], errors: FieldErrors, *, path: str, known: frozenset[str]
) -> None:
    if _is_too_long(requests, errors, path=path):
        return
    seen: set[str] = set()
    for index, reference in enumerate(requests):
        where = f"{path}[{index}]"
        if reference in seen:
            errors.duplicate(where, reference)
        elif reference not in known:
            errors.invalid(
                where,
                reference,
                "must be the name of a request in the claim or the name of a request and a "
                "subrequest separated by '/'",
            )
        seen.add(reference)


def _references(requests: Iterable[DeviceRequest]) -> Iterator[str]:
    for request in requests:
        yield request.name
        for alternative in request.first_available:
            yield f"{request.name}/{alternative.name}"


def _least_devices(request: DeviceRequest) -> int:
    """Count the devices that a request takes at least; mode All is known on a node only."""
    wishes = [alternative.wish for alternative in request.first_available]
    if request.exactly is not None:
        wishes = [request.exactly]
    counts = [wish.count if wish.allocation_mode == EXACT_COUNT else 1 for wish in wishes]
    return min(counts, default=0)


def _check_name(name: str, errors: FieldErrors, *, path: str, seen: set[str]) -> None:
    if not name:
        errors.required(path)
        return
    _check_format(names.dns_label(name), name, errors, path)
    if name in seen:
        errors.duplicate(path, name)
    seen.add(name)


def _check_format(found: Iterable[str], value: str, errors: FieldErrors, path: str) -> None:
    for detail in found:
        errors.invalid(path, value, detail)


def _is_too_long(entries: Sequence[object], errors: FieldErrors, *, path: str) -> bool:
    if len(entries) <= LIST_LIMIT:
        return False
    errors.too_many(path, len(entries), LIST_LIMIT)
    return True
