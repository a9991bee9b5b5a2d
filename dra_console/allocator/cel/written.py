"""Lists and maps as an expression writes them, built anew for each device or once."""

from collections.abc import Hashable

from dra_console.allocator.cel import run_costs
from dra_console.allocator.cel.frames import Build, Frame, Meter, Step
from dra_console.allocator.cel.tree import ListOf, Literal, MapOf, Node
from dra_console.allocator.cel.values import (
    EvaluationError,
    Optional,
    Value,
    as_key,
    from_key,
    no_such_overload,
)


def is_constant(node: Node) -> bool:
    """Tell whether it is a list of constants, each of which is there."""
    return (
        isinstance(node, ListOf)
        and not node.optional_indices
        and all(isinstance(each, Literal) for each in node.elements)
    )


def listed(node: ListOf, build: Build) -> Step:
    """Build a list; one of constants is built once."""
    steps = tuple(map(build, node.elements))
    optional = frozenset(node.optional_indices)
    if is_constant(node):
        constant = [step(Frame({}, Meter(0))) for step in steps]
        return lambda _: constant

    def make(frame: Frame) -> Value:
        values: list[Value] = []
        for index, step in enumerate(steps):
            value = step(frame)
            if index in optional:
                if not isinstance(value, Optional):
                    raise no_such_overload()
                if not value.is_present:
                    continue
                value = value.value
            values.append(value)
        frame.meter.charge(run_costs.LIST)
        return values

    return make


def mapped(node: MapOf, build: Build) -> Step:
    """Build a map.

    Raises:
        EvaluationError: it is a message.

    """
    if node.message:
        raise EvaluationError(f"messages such as {node.message} are not offered")
    steps = tuple(
        (
            build(Literal(0, entry.key) if isinstance(entry.key, str) else entry.key),
            build(entry.value),
            entry.is_optional,
        )
        for entry in node.entries
    )

    def make(frame: Frame) -> Value:
        values: dict[Hashable, Value] = {}
        for key_step, step, is_optional in steps:
            key, value = as_key(key_step(frame)), step(frame)
            if is_optional:
                if not isinstance(value, Optional):
                    raise no_such_overload()
                if not value.is_present:
                    continue
                value = value.value
            if key in values:
                raise EvaluationError(f"Failed with repeated key: {from_key(key)}")
            values[key] = value
        frame.meter.charge(run_costs.MAP)
        return values

    return make
