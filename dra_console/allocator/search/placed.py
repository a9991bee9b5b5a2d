"""Pods of a shape that were placed while nodes were filled."""

from dataclasses import dataclass

from dra_console.allocator.inventory import Node
from dra_console.allocator.model import AllocationResult


@dataclass(frozen=True, slots=True)
class Placed:
    """One pod: of which shape, where, and what each of its claims gets."""

    shape: int
    node: Node
    results: tuple[AllocationResult, ...]
