"""Expressions as nested closures, built once and called per device.

Semantics are cel-go's as Kubernetes runs it: the sides of `&&` and `||` are commutative about
errors, macros absorb errors that do not decide, `cel.bind` is lazy, and every step is charged,
so that no expression runs without end.
"""

from collections.abc import Sequence
from typing import Final

from dra_console.allocator.cel import run_costs
from dra_console.allocator.cel.arithmetic import add
from dra_console.allocator.cel.folds import folded
from dra_console.allocator.cel.frames import Failure, Frame, Growing, Lazy, Meter, Step
from dra_console.allocator.cel.library import FUNCTIONS, METHODS
from dra_console.allocator.cel.operators import Function, is_in, item, item_or_none
from dra_console.allocator.cel.steps import SPECIAL, optional_item
from dra_console.allocator.cel.tree import (
    Call,
    Fold,
    ListOf,
    Literal,
    MapOf,
    Name,
    Node,
    Select,
    Unsigned,
)
from dra_console.allocator.cel.values import NONE, TYPES, EvaluationError, Optional, Uint, Value
from dra_console.allocator.cel.written import is_constant, listed, mapped
from dra_console.allocator.semver import Semver

READ_ONCE: Final = frozenset({"quantity", "semver", "ip", "cidr", "url", "duration", "timestamp"})
"""Functions that read a text; of a constant they make another one, which does not change."""
UNLIMITED: Final = 1 << 63
GLOBAL: Final = "@device"
"""The device by a name that no macro's variable can hide."""


def compiled(node: Node) -> Step:  # noqa: PLR0911  one kind of node each
    """Build the closure of a node."""
    match node:
        case Literal():
            value: Value = node.value
            if isinstance(value, Unsigned):
                value = Uint(value.value)
            return lambda _: value
        case Name():
            return _name(node.name)
        case Select():
            return _select(node)
        case Call():
            return _call(node)
        case ListOf():
            return listed(node, compiled)
        case MapOf():
            return mapped(node, compiled)
        case Fold():
            return folded(node, compiled)


def _name(name: str) -> Step:
    absolute = name.removeprefix(".")
    variable, _, field = absolute.partition(".")
    if absolute in TYPES and (name != absolute or field):
        kind = TYPES[absolute]
        return lambda _: kind
    if field:
        return _select(Select(0, Name(0, f".{variable}"), field))
    if name != absolute:
        name = GLOBAL

    def look_up(frame: Frame) -> Value:
        frame.meter.charge(1)
        value = frame.variables.get(name, frame)
        if isinstance(value, Lazy):
            value = value.force()
        if isinstance(value, Failure):
            raise value.error
        if value is frame:
            return TYPES[name]
        return value

    return look_up


def _select(node: Select) -> Step:
    operand, key = compiled(node.operand), node.field

    def select(frame: Frame) -> Value:
        container = operand(frame)
        frame.meter.charge(1)
        if isinstance(container, Optional):
            return optional_item(container, key)
        return item(container, key)

    def is_there(frame: Frame) -> Value:
        container = operand(frame)
        if isinstance(container, Optional):
            return isinstance(optional_item(container, key), Optional) and (
                optional_item(container, key) is not NONE
            )
        return item_or_none(container, key) is not NONE

    return is_there if node.is_presence_test else select


def _call(node: Call) -> Step:
    special = SPECIAL.get(node.function)
    if special is not None:
        return special(*map(compiled, node.operands))
    if node.function == "@in" and is_constant(node.arguments[1]):
        return _member(*node.arguments)
    function = _added if node.function == "_+_" else _function_of(node)
    call = _plain(node.function, function, tuple(map(compiled, node.operands)))
    is_literal = all(isinstance(each, Literal) for each in node.operands)
    return _once(call) if is_literal and node.function in READ_ONCE else call


def _function_of(node: Call) -> Function:
    if node.target is not None and node.function in METHODS:
        return METHODS[node.function]
    return FUNCTIONS[node.function]


def _once(call: Step) -> Step:
    """Make a step that has the same result every time take it once; it is charged every time."""
    meter = Meter(UNLIMITED)
    try:
        result = call(Frame({}, meter))
    except EvaluationError:
        return call

    def known(frame: Frame) -> Value:
        frame.meter.charge(meter.cost)
        return result

    return known


def _plain(name: str, function: Function, steps: tuple[Step, ...]) -> Step:
    cost = run_costs.COSTS.get(name)
    is_prepaid = cost is not None and name in run_costs.PREPAID

    def call(frame: Frame) -> Value:
        values = [step(frame) for step in steps]
        if any(isinstance(value, list | dict) for value in values):
            run_costs.refuse_deep(values)
        if is_prepaid and cost is not None:
            frame.meter.charge(cost(values, None))
            return function(values)
        try:
            result = function(values)
        except EvaluationError:
            frame.meter.charge(1)
            raise
        frame.meter.charge(1 if cost is None else cost(values, result))
        return result

    return call


def _added(values: Sequence[Value]) -> Value:
    left, right = values
    if isinstance(left, Growing) and isinstance(right, list):
        left.extend(right)
        return left
    return add(left, right)


def _member(wanted: Node, listed: Node) -> Step:
    """Look for a value among constants, which upstream keeps as a set.

    Nothing is in an empty set, whatever it is, an error even; and versions cannot be looked for.
    """
    if isinstance(listed, ListOf) and not listed.elements:
        return lambda _: False

    def looked_for(values: Sequence[Value]) -> Value:
        if isinstance(values[0], Semver):
            raise EvaluationError("internal error: a version cannot be looked for among constants")
        return is_in(values[0], values[1])

    return _plain("@in", looked_for, (compiled(wanted), compiled(listed)))
