"""Rules for derived attributes of requests (1.37, alpha): named in a constraint, and cheap."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self

from dra_console.allocator.decoding.reading import Fields
from dra_console.allocator.rules import Rules
from dra_console.allocator.validation.field_errors import FieldErrors
from dra_console.allocator.validation.formats import (
    check_fully_qualified_name,
    check_unique,
    is_too_many,
    listed,
)
from dra_console.allocator.validation.selector_rules import check_derivation

DERIVED_LIMIT: Final = 32
EVERY_REQUEST: Final = ""


@dataclass(frozen=True, slots=True)
class DerivedAttributes:
    """Which attributes the constraints of a claim ask of which request, or of every request."""

    asked: Mapping[str, frozenset[str]]

    @classmethod
    def of(cls, devices: Fields) -> Self:
        """Read the constraints of `spec.devices`."""
        asked: dict[str, set[str]] = {}
        for constraint in devices.children("constraints"):
            attribute = constraint.optional_text("matchAttribute")
            if attribute is None:
                attribute = constraint.optional_text("distinctAttribute")
            if attribute is not None:
                for reference in constraint.texts("requests") or (EVERY_REQUEST,):
                    asked.setdefault(reference, set()).add(attribute)
        return cls({reference: frozenset(names) for reference, names in asked.items()})

    def check(self, wish: Fields, errors: FieldErrors, *, reference: str, rules: Rules) -> None:
        """Check the derived attributes of a request or of an alternative, `request/subrequest`."""
        attributes = listed(wish, "derivedAttributes")
        path = wish.path_of("derivedAttributes")
        is_cut = is_too_many(attributes, DERIVED_LIMIT, errors, path=path)
        for attribute in attributes:
            name, where = attribute.text("name"), attribute.path_of("name")
            if name and not self._is_asked(name, reference=reference):
                detail = "must be named by a constraint that covers this request"
                errors.invalid(where, name, detail)
            expression = attribute.text("expression")
            if expression:
                where = attribute.path_of("expression")
                check_derivation(expression, errors, path=where, rules=rules)
            if not is_cut:
                _check_fields(attribute, errors)
        check_unique([each.text("name") for each in attributes], errors, path=path)

    def _is_asked(self, name: str, *, reference: str) -> bool:
        covering = (EVERY_REQUEST, reference, reference.partition("/")[0])
        return any(name in self.asked.get(each, ()) for each in covering)


def _check_fields(attribute: Fields, errors: FieldErrors) -> None:
    name, path = attribute.text("name"), attribute.path_of("name")
    if name:
        check_fully_qualified_name(name, errors, path=path)
    else:
        errors.required(path)
    if not attribute.text("expression"):
        errors.required(attribute.path_of("expression"))
