"""Rules for CEL selectors of requests and classes."""

from typing import Final

from dra_console.allocator import names
from dra_console.allocator.cel.checking import Dialect
from dra_console.allocator.cel.selectors import (
    EXPRESSION_LIMIT_BYTES,
    CompileFault,
    default_engine,
)
from dra_console.allocator.decoding.reading import Fields
from dra_console.allocator.rules import Rules
from dra_console.allocator.validation.field_errors import FieldErrors
from dra_console.allocator.validation.formats import is_too_many, listed

SELECTORS_LIMIT: Final = 32


def check_selectors(
    owner: Fields, errors: FieldErrors, *, is_stored: bool = False, rules: Rules
) -> None:
    """Check and compile the selectors of a request or class.

    Those that are stored as they stand are not compiled again: a limit may have become tighter
    since then.
    """
    selectors = listed(owner, "selectors")
    if is_too_many(selectors, SELECTORS_LIMIT, errors, path=owner.path_of("selectors")):
        return
    for selector in selectors:
        cel = selector.child("cel")
        if cel is None:
            errors.required(selector.path_of("cel"))
        elif not is_stored:
            expression = cel.text("expression")
            check_expression(expression, errors, path=cel.path_of("expression"), rules=rules)


def check_expression(expression: str, errors: FieldErrors, *, path: str, rules: Rules) -> None:
    """Compile one selector; the message has line and column of what is wrong."""
    if names.size_bytes(expression) > EXPRESSION_LIMIT_BYTES:
        errors.too_long(path, EXPRESSION_LIMIT_BYTES)
        return
    compiled = default_engine().compile(expression, Dialect.of_new(rules.features))
    if isinstance(compiled, CompileFault):
        report_fault(compiled, expression, errors, path=path)


def report_fault(fault: CompileFault, expression: str, errors: FieldErrors, *, path: str) -> None:
    """Report what is wrong with an expression; one that is right but costs much is forbidden."""
    if fault.is_too_complex:
        errors.forbidden(path, str(fault))
    else:
        errors.invalid(path, expression, str(fault))
