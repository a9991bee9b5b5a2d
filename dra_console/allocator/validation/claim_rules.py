"""Rules for the spec of a claim, as it stands in claims and templates.

They are the API server's. It stores claims that no scheduler can ever allocate; what is wrong
with those is in `unallocatable`. A list that is too long is reported alone; its entries are not
looked at.
"""

from typing import Final

from dra_console.allocator import names
from dra_console.allocator.decoding.reading import Fields
from dra_console.allocator.model import ALL_DEVICES, EXACT_COUNT
from dra_console.allocator.rules import Feature, Rules
from dra_console.allocator.validation.config_rules import check_config
from dra_console.allocator.validation.derived_rules import DerivedAttributes
from dra_console.allocator.validation.field_errors import FieldErrors
from dra_console.allocator.validation.formats import (
    check_format,
    check_fully_qualified_name,
    check_required,
    check_unique,
    is_too_many,
    listed,
)
from dra_console.allocator.validation.request_names import RequestNames
from dra_console.allocator.validation.selector_rules import check_selectors
from dra_console.allocator.validation.taint_rules import check_toleration

LIST_LIMIT: Final = 32
ALTERNATIVES_LIMIT: Final = 8
ONE_OF: Final = "exactly one of `exactly` or `firstAvailable` is required"
ONE_ATTRIBUTE: Final = "exactly one of `matchAttribute` or `distinctAttribute` is required"


def check_claim_spec(spec: Fields, errors: FieldErrors, *, rules: Rules) -> None:
    """Check requests, constraints and configuration of a claim."""
    devices = spec.child("devices") or Fields(spec.path_of("devices"), {})
    derived = DerivedAttributes.of(devices, rules=rules)
    requests = listed(devices, "requests")
    if not is_too_many(requests, LIST_LIMIT, errors, path=devices.path_of("requests")):
        for request in requests:
            _check_request(request, errors, derived=derived, rules=rules)
        _check_unique_names(requests, errors, path=devices.path_of("requests"))
    derived.check_cost(devices, errors)
    known = RequestNames.of(devices)
    constraints = listed(devices, "constraints")
    if not is_too_many(constraints, LIST_LIMIT, errors, path=devices.path_of("constraints")):
        for constraint in constraints:
            _check_constraint(constraint, errors, known=known, rules=rules)
    config = listed(devices, "config")
    if not is_too_many(config, LIST_LIMIT, errors, path=devices.path_of("config")):
        for entry in config:
            check_config(entry, errors, known=known)


def _check_request(
    request: Fields, errors: FieldErrors, *, derived: DerivedAttributes, rules: Rules
) -> None:
    name = request.text("name")
    check_format(name, names.dns_label, errors, path=request.path_of("name"))
    exactly, alternatives = request.child("exactly"), listed(request, "firstAvailable")
    if exactly is not None and alternatives:
        errors.invalid(request.path, name, ONE_OF)
    elif exactly is not None:
        _check_wish(exactly, errors, rules=rules)
        derived.check(exactly, errors, reference=name)
    elif not alternatives:
        errors.required(request.path, ONE_OF)
    else:
        path = request.path_of("firstAvailable")
        if is_too_many(alternatives, ALTERNATIVES_LIMIT, errors, path=path):
            return
        for alternative in alternatives:
            own_name = alternative.text("name")
            check_format(own_name, names.dns_label, errors, path=alternative.path_of("name"))
            _check_wish(alternative, errors, rules=rules)
            derived.check(alternative, errors, reference=f"{name}/{own_name}")
        _check_unique_names(alternatives, errors, path=path)


def _check_unique_names(named: tuple[Fields, ...], errors: FieldErrors, *, path: str) -> None:
    check_unique([each.text("name") for each in named], errors, path=path)


def _check_wish(wish: Fields, errors: FieldErrors, *, rules: Rules) -> None:
    class_name, path = wish.text("deviceClassName"), wish.path_of("deviceClassName")
    check_required(class_name, names.dns_subdomain, errors, path=path)
    check_selectors(wish, errors, rules=rules)
    mode = wish.text("allocationMode") or EXACT_COUNT
    count = wish.integer("count") or 0
    if mode == EXACT_COUNT:
        if count < 0:
            errors.invalid(wish.path_of("count"), count, "must be greater than zero")
    elif mode == ALL_DEVICES:
        if count:
            detail = "must not be specified when allocationMode is 'All'"
            errors.invalid(wish.path_of("count"), count, detail)
    else:
        supported = (ALL_DEVICES, EXACT_COUNT)
        errors.not_supported(wish.path_of("allocationMode"), mode, supported)
    for toleration in wish.children("tolerations"):
        check_toleration(toleration, errors)


def _check_constraint(
    constraint: Fields, errors: FieldErrors, *, known: RequestNames, rules: Rules
) -> None:
    """Check a constraint. Of two attributes the server, like the allocator, sees one."""
    known.check_references(constraint, errors)
    match = constraint.optional_text("matchAttribute")
    distinct = constraint.optional_text("distinctAttribute")
    for field, attribute in (("matchAttribute", match), ("distinctAttribute", distinct)):
        if attribute is not None:
            check_fully_qualified_name(attribute, errors, path=constraint.path_of(field))
    if match is None and distinct is None:
        if rules.has(Feature.CONSUMABLE_CAPACITY):
            errors.required(constraint.path, ONE_ATTRIBUTE)
        else:
            errors.required(constraint.path_of("matchAttribute"))
