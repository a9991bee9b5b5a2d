"""Structured allocation for Dynamic Resource Allocation, as a pure library.

These names are what a program needs first. They are looked up when they are used, so that
whoever needs only the values (`model`) does not load the CEL engine with them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from dra_console.allocator.decoding.decode import decode_claim, decode_snapshot
    from dra_console.allocator.errors import AllocatorError, DecodeError
    from dra_console.allocator.explanation.explain import explain
    from dra_console.allocator.explanation.explanation import Explanation
    from dra_console.allocator.model import Node, ResourceClaim, Snapshot
    from dra_console.allocator.outcomes import (
        Allocated,
        BrokenInput,
        BudgetExhausted,
        DoesNotFit,
        Outcome,
    )
    from dra_console.allocator.rules import Feature, Quirks, Rules
    from dra_console.allocator.search.search import allocate

__all__ = [
    "Allocated",
    "AllocatorError",
    "BrokenInput",
    "BudgetExhausted",
    "DecodeError",
    "DoesNotFit",
    "Explanation",
    "Feature",
    "Node",
    "Outcome",
    "Quirks",
    "ResourceClaim",
    "Rules",
    "Snapshot",
    "allocate",
    "decode_claim",
    "decode_snapshot",
    "explain",
]

HOMES: Final = {
    "decoding.decode": ("decode_claim", "decode_snapshot"),
    "errors": ("AllocatorError", "DecodeError"),
    "explanation.explain": ("explain",),
    "explanation.explanation": ("Explanation",),
    "model": ("Node", "ResourceClaim", "Snapshot"),
    "outcomes": ("Allocated", "BrokenInput", "BudgetExhausted", "DoesNotFit", "Outcome"),
    "rules": ("Feature", "Quirks", "Rules"),
    "search.search": ("allocate",),
}


def __getattr__(name: str) -> object:
    for module, names in HOMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__} has no attribute {name}")


def __dir__() -> list[str]:
    return sorted(__all__)
