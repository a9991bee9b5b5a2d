"""What macros expand to: loops over lists and maps, and `cel.bind`.

Macros absorb errors that do not decide, and `cel.bind` is lazy.
"""

from collections.abc import Hashable
from typing import Final

from dra_console.allocator.cel.frames import Build, Failure, Frame, Growing, Lazy, Step
from dra_console.allocator.cel.tree import Fold, ListOf, Literal
from dra_console.allocator.cel.values import EvaluationError, Value, from_key, type_name

ACCUMULATOR: Final = "@result"
"""What macros call their accumulator; `cel.bind` uses the name that the user gave."""


def folded(node: Fold, build: Build) -> Step:
    """Build the closure of what a macro expanded to."""
    is_bind = (
        node.range == ListOf(node.range.number, ())
        and isinstance(node.condition, Literal)
        and node.condition.value is False
        and node.accumulator != ACCUMULATOR
    )
    return _bind(node, build) if is_bind else _loop(node, build)


def _bind(node: Fold, build: Build) -> Step:
    start, result, name = build(node.start), build(node.result), node.accumulator

    def bind(frame: Frame) -> Value:
        lazy = Lazy(start, frame)
        return result(Frame(frame.variables | {name: lazy}, frame.meter))

    return bind


def _loop(node: Fold, build: Build) -> Step:
    values, start, condition, step, result = map(
        build, (node.range, node.start, node.condition, node.step, node.result)
    )
    begins_empty = isinstance(node.start, ListOf) and not node.start.elements
    keeps_going = isinstance(node.condition, Literal)

    def loop(frame: Frame) -> Value:
        held = values(frame)
        if not isinstance(held, list | dict):
            raise EvaluationError(f"got '{type_name(held)}', expected iterable type")
        accumulated: Value | Failure = Growing() if begins_empty else start(frame)
        inner = Frame(dict(frame.variables), frame.meter)
        for key, value in _walk(held):
            if node.second_variable:
                inner.variables[node.variable] = key
                inner.variables[node.second_variable] = value
            else:
                inner.variables[node.variable] = value if isinstance(held, list) else key
            inner.variables[node.accumulator] = accumulated
            if not keeps_going and condition(inner) is not True:
                break
            try:
                accumulated = step(inner)
            except EvaluationError as error:
                accumulated = Failure(error)
        if isinstance(accumulated, Growing):
            accumulated = [*accumulated]
        outer = Frame(frame.variables | {node.accumulator: accumulated}, frame.meter)
        return result(outer)

    return loop


def _walk(held: list[Value] | dict[Hashable, Value]) -> list[tuple[Value, Value]]:
    if isinstance(held, list):
        return list(enumerate(held))
    return [(from_key(key), value) for key, value in held.items()]
