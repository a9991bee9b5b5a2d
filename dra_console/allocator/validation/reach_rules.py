"""Rules for where devices can be used from: one way, said once, of a slice or of a device.

The server's words for an empty node name differ between the two, and it asks for exactly one
term in the node selector of a slice alone.
"""

from typing import Final

from dra_console.allocator.decoding.reading import Fields
from dra_console.allocator.validation.field_errors import FieldErrors
from dra_console.allocator.validation.formats import listed
from dra_console.allocator.validation.node_selector_rules import (
    check_node_name,
    check_node_selector,
)

WAYS: Final = ("nodeName", "nodeSelector", "allNodes")


def check_reach(
    owner: Fields,
    errors: FieldErrors,
    *,
    empty_name: str,
    also: tuple[str, ...] = (),
    needs_one_term: bool = False,
) -> None:
    """Check that exactly one of `WAYS` is there, or of the flags in `also`."""
    ways: list[str] = []
    node_name = owner.optional_text("nodeName")
    if node_name:
        ways.append("nodeName")
        check_node_name(node_name, errors, path=owner.path_of("nodeName"))
    elif node_name is not None:
        errors.invalid(owner.path_of("nodeName"), "", empty_name)
    selector = owner.child("nodeSelector")
    if selector is not None:
        ways.append("nodeSelector")
        check_node_selector(selector, errors)
        if needs_one_term:
            _check_one_term(selector, errors)
    for flag in ("allNodes", *also):
        value = owner.boolean(flag)
        if value:
            ways.append(flag)
        elif value is not None:
            errors.invalid(owner.path_of(flag), value, "must be either unset or set to true")
    choices = ", ".join(f"`{way}`" for way in (*WAYS, *also))
    if not ways:
        errors.required(owner.path, f"exactly one of {choices} is required")
    elif len(ways) > 1:
        errors.invalid(owner.path, ", ".join(ways), f"exactly one of {choices} is required")


def _check_one_term(selector: Fields, errors: FieldErrors) -> None:
    terms = listed(selector, "nodeSelectorTerms")
    if len(terms) != 1:
        detail = "must have exactly one node selector term"
        errors.invalid(selector.path_of("nodeSelectorTerms"), len(terms), detail)
