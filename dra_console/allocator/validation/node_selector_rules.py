"""Rules for a core NodeSelector, as it stands in slices, devices and allocations."""

from collections.abc import Iterator
from typing import Final

from dra_console.allocator import names
from dra_console.allocator.decoding.reading import Fields
from dra_console.allocator.validation.field_errors import FieldErrors
from dra_console.allocator.validation.formats import check_format

NAME_FIELD: Final = "metadata.name"
NOT_AN_OPERATOR: Final = "not a valid selector operator"


def check_node_name(name: str, errors: FieldErrors, *, path: str) -> None:
    """Check the name of a node that is given."""
    check_format(name, names.dns_subdomain, errors, path=path)


def check_node_selector(selector: Fields, errors: FieldErrors) -> None:
    """Check terms and requirements; that no term is empty, nobody asks."""
    terms = list(selector.children("nodeSelectorTerms"))
    if not terms:
        detail = "must have at least one node selector term"
        errors.required(selector.path_of("nodeSelectorTerms"), detail)
    for term in terms:
        for requirement in term.children("matchExpressions"):
            _check_expression(requirement, errors)
        for requirement in term.children("matchFields"):
            _check_field(requirement, errors)


def _check_expression(requirement: Fields, errors: FieldErrors) -> None:
    values, path = requirement.texts("values"), requirement.path_of("values")
    operator = requirement.text("operator")
    match operator:
        case "In" | "NotIn":
            if not values:
                errors.required(path, "needed for the operators In and NotIn")
        case "Exists" | "DoesNotExist":
            if values:
                errors.forbidden(path, "the operators Exists and DoesNotExist take no values")
        case "Gt" | "Lt":
            if len(values) != 1:
                errors.required(path, "the operators Gt and Lt take one value")
        case _:
            errors.invalid(requirement.path_of("operator"), operator, NOT_AN_OPERATOR)
    key = requirement.text("key")
    check_format(key, names.label_key, errors, path=requirement.path_of("key"))
    for where, value in _values(requirement):
        check_format(value, names.label_value, errors, path=where)


def _check_field(requirement: Fields, errors: FieldErrors) -> None:
    operator = requirement.text("operator")
    if operator not in {"In", "NotIn"}:
        errors.invalid(requirement.path_of("operator"), operator, NOT_AN_OPERATOR)
    elif len(requirement.texts("values")) != 1:
        errors.required(requirement.path_of("values"), "a field takes exactly one value")
    key = requirement.text("key")
    if key != NAME_FIELD:
        errors.invalid(requirement.path_of("key"), key, f"the only field is {NAME_FIELD}")
        return
    for where, value in _values(requirement):
        check_node_name(value, errors, path=where)


def _values(requirement: Fields) -> Iterator[tuple[str, str]]:
    for index, value in enumerate(requirement.texts("values")):
        yield f"{requirement.path_of('values')}[{index}]", value
