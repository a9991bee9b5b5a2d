"""Steps that do not just take values: what decides, chooses, or may be absent."""

from collections.abc import Callable
from typing import Final

from dra_console.allocator.cel.frames import Frame, Step
from dra_console.allocator.cel.operators import item, item_or_none
from dra_console.allocator.cel.values import (
    NONE,
    EvaluationError,
    Optional,
    Value,
    no_such_overload,
)


def optional_item(container: Value, key: Value) -> Optional:
    """Look up; nothing where there is nothing, nor in what is absent itself."""
    if isinstance(container, Optional):
        if not container.is_present:
            return NONE
        container = container.value
    found = item_or_none(container, key)
    return found if isinstance(found, Optional) else Optional(found[0])


def _and(left: Step, right: Step) -> Step:
    return _logical(left, right, deciding=False)


def _or(left: Step, right: Step) -> Step:
    return _logical(left, right, deciding=True)


def _logical(left: Step, right: Step, *, deciding: bool) -> Step:
    def decide(frame: Frame) -> Value:
        error = None
        for side in (left, right):
            try:
                value = side(frame)
            except EvaluationError as failed:
                error = error or failed
                continue
            if value is deciding:
                return deciding
            if not isinstance(value, bool):
                error = error or no_such_overload()
        if error is not None:
            raise error
        return not deciding

    return decide


def _not(operand: Step) -> Step:
    def turned(frame: Frame) -> Value:
        value = operand(frame)
        frame.meter.charge(1)
        if not isinstance(value, bool):
            raise no_such_overload()
        return not value

    return turned


def _choice(condition: Step, yes: Step, no: Step) -> Step:
    def choose(frame: Frame) -> Value:
        value = condition(frame)
        if not isinstance(value, bool):
            raise no_such_overload()
        return yes(frame) if value else no(frame)

    return choose


def _not_strictly_false(operand: Step) -> Step:
    def goes_on(frame: Frame) -> Value:
        try:
            value = operand(frame)
        except EvaluationError:
            value = True
        frame.meter.charge(1)
        return value is not False

    return goes_on


def _optional_access(container: Step, key: Step) -> Step:
    def access(frame: Frame) -> Value:
        held, wanted = container(frame), key(frame)
        frame.meter.charge(1)
        if not isinstance(wanted, bool | int | float | str):
            raise EvaluationError("invalid qualifier type")
        return optional_item(held, wanted)

    return access


def _index(container: Step, key: Step) -> Step:
    def look_up(frame: Frame) -> Value:
        held, wanted = container(frame), key(frame)
        frame.meter.charge(1)
        if not isinstance(wanted, bool | int | float | str):
            raise EvaluationError("invalid qualifier type")
        return optional_item(held, wanted) if isinstance(held, Optional) else item(held, wanted)

    return look_up


def _or_value(optional: Step, other: Step) -> Step:
    def choose(frame: Frame) -> Value:
        value = optional(frame)
        if not isinstance(value, Optional):
            raise no_such_overload("orValue", value)
        return value.value if value.is_present else other(frame)

    return choose


def _or_optional(optional: Step, other: Step) -> Step:
    def choose(frame: Frame) -> Value:
        value = optional(frame)
        if not isinstance(value, Optional):
            raise no_such_overload("or", value)
        return value if value.is_present else other(frame)

    return choose


SPECIAL: Final[dict[str, Callable[..., Step]]] = {  # type: ignore[explicit-any]  # by arity
    "_&&_": _and,
    "_||_": _or,
    "!_": _not,
    "_?_:_": _choice,
    "@not_strictly_false": _not_strictly_false,
    "_?._": _optional_access,
    "_[?_]": _optional_access,
    "_[_]": _index,
    "orValue": _or_value,
    "or": _or_optional,
}
"""Functions that do not just take values."""
