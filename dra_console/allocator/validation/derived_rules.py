"""Rules for derived attributes of requests (KEP-6080, 1.37, alpha).

Each is named by a constraint, or it would be computed for nothing. What all those of a claim
may cost together is limited.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Self

from dra_console.allocator import names
from dra_console.allocator.cel.checking import Dialect, check
from dra_console.allocator.cel.checks import derivation_fault_of
from dra_console.allocator.cel.cost import estimated_cost
from dra_console.allocator.cel.faults import CompileFault
from dra_console.allocator.cel.selectors import EXPRESSION_LIMIT_BYTES
from dra_console.allocator.cel.tree import Kind
from dra_console.allocator.decoding.reading import Fields
from dra_console.allocator.rules import Feature, Rules
from dra_console.allocator.validation.field_errors import FieldErrors
from dra_console.allocator.validation.formats import (
    check_fully_qualified_name,
    check_unique,
    is_too_many,
    listed,
)
from dra_console.allocator.validation.selector_rules import report_fault

DERIVED_LIMIT: Final = 32
COST_LIMIT: Final = 1_000_000
"""Of one expression, and of all in one claim."""
EVERY_REQUEST: Final = ""


@dataclass(slots=True)
class DerivedAttributes:
    """Which attributes the constraints of a claim ask of which request, or of every request.

    `cost` adds up what the expressions may cost that were checked.
    """

    asked: Mapping[str, frozenset[str]]
    rules: Rules
    cost: int = field(default=0)

    @classmethod
    def of(cls, devices: Fields, *, rules: Rules) -> Self:
        """Read the constraints of `spec.devices`."""
        asked: dict[str, set[str]] = {}
        for constraint in devices.children("constraints"):
            attribute = constraint.optional_text("matchAttribute")
            if attribute is None:
                attribute = constraint.optional_text("distinctAttribute")
            if attribute is not None:
                for reference in constraint.texts("requests") or (EVERY_REQUEST,):
                    asked.setdefault(reference, set()).add(attribute)
        return cls({reference: frozenset(each) for reference, each in asked.items()}, rules)

    def check(self, wish: Fields, errors: FieldErrors, *, reference: str) -> None:
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
                self._compile(expression, errors, path=attribute.path_of("expression"))
            if not is_cut:
                _check_fields(attribute, errors)
        check_unique([each.text("name") for each in attributes], errors, path=path)

    def check_cost(self, devices: Fields, errors: FieldErrors) -> None:
        """Check what all of them may cost together, after each was checked."""
        if self.cost > COST_LIMIT:
            detail = (
                f"too complex, the derived attributes may cost {self.cost} together, the limit "
                f"is {COST_LIMIT}"
            )
            errors.forbidden(devices.path, detail)

    def _is_asked(self, name: str, *, reference: str) -> bool:
        covering = (EVERY_REQUEST, reference, reference.partition("/")[0])
        return any(name in self.asked.get(each, ()) for each in covering)

    def _compile(self, expression: str, errors: FieldErrors, *, path: str) -> None:
        """Compile an expression, whose result need not be a truth value."""
        if names.size_bytes(expression) > EXPRESSION_LIMIT_BYTES:
            errors.too_long(path, EXPRESSION_LIMIT_BYTES)
            return
        tree = check(expression, Dialect.of_new(self.rules.features))
        if isinstance(tree, CompileFault):
            report_fault(tree, expression, errors, path=path)
            return
        fault = derivation_fault_of(tree, expression)
        if fault is not None:
            report_fault(fault, expression, errors, path=path)
            return
        is_list = tree.type_of(tree.root).kind is Kind.LIST
        if is_list and not self.rules.has(Feature.LIST_TYPE_ATTRIBUTES):
            errors.invalid(path, expression, "must not evaluate to a list")
            return
        cost = estimated_cost(tree)
        self.cost += cost
        if cost > COST_LIMIT:
            detail = f"too complex, it may cost {cost}, the limit is {COST_LIMIT}"
            errors.forbidden(path, detail)


def _check_fields(attribute: Fields, errors: FieldErrors) -> None:
    name, path = attribute.text("name"), attribute.path_of("name")
    if name:
        check_fully_qualified_name(name, errors, path=path)
    else:
        errors.required(path)
    if not attribute.text("expression"):
        errors.required(attribute.path_of("expression"))
