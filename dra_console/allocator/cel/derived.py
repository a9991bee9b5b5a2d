"""Derived attributes: what constraints see of a device and an expression computes (KEP-6080).

An expression of the same kind as a selector, but its result is the attribute's value: a
boolean, an integer, a text or a version, or a list of one of them. The type is known only for
sure when it is evaluated, since attributes have no static type.
"""

from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from dra_console.allocator.cel.checking import STORED, check
from dra_console.allocator.cel.checks import derivation_fault_of
from dra_console.allocator.cel.evaluation import compiled
from dra_console.allocator.cel.faults import CompileFault, EvaluationFault
from dra_console.allocator.cel.frames import Frame, Meter, Step
from dra_console.allocator.cel.reads import Reads, reads_of
from dra_console.allocator.cel.selectors import COST_LIMIT, PROGRAM_LIMIT, projection, with_hint
from dra_console.allocator.cel.values import CostExceededError, EvaluationError, Value, type_name
from dra_console.allocator.cel.variables import device_variables
from dra_console.allocator.facts import DeviceFacts
from dra_console.allocator.inventory import AttributeKind, AttributeValue, Scalar
from dra_console.allocator.semver import Semver

VALUES_LIMIT: Final = 65_536
"""Kinds of devices kept per expression."""

SCALARS: Final[MappingProxyType[type, AttributeKind]] = MappingProxyType(
    {
        bool: AttributeKind.BOOL,
        int: AttributeKind.INT,
        str: AttributeKind.STRING,
        Semver: AttributeKind.VERSION,
    }
)


@dataclass(slots=True)
class Derivation:
    """A compiled expression with the values it has given."""

    expression: str
    reads: Reads
    _step: Step
    _values: dict[Hashable, AttributeValue | EvaluationFault] = field(default_factory=dict)

    def value(self, facts: DeviceFacts) -> AttributeValue | EvaluationFault:
        """Compute the attribute of a device."""
        key = projection(facts, self.reads)
        known = self._values.get(key)
        if known is None:
            known = self._value(facts)
            if len(self._values) >= VALUES_LIMIT:
                self._values.clear()
            self._values[key] = known
        return known

    def _value(self, facts: DeviceFacts) -> AttributeValue | EvaluationFault:
        if facts.fault is not None:
            return EvaluationFault(facts.fault)
        try:
            result = self._step(Frame(device_variables(facts), Meter(COST_LIMIT)))
        except EvaluationError as error:
            return EvaluationFault(with_hint(str(error)))
        except CostExceededError:
            return EvaluationFault("actual cost limit exceeded")
        return _attribute(result)


@lru_cache(maxsize=PROGRAM_LIMIT)
def derivation(expression: str) -> Derivation | CompileFault:
    """Compile and type-check, or return what is wrong and where."""
    tree = check(expression, STORED)
    if isinstance(tree, CompileFault):
        return tree
    fault = derivation_fault_of(tree, expression)
    return fault or Derivation(expression, reads_of(tree.root), compiled(tree.root))


def _attribute(result: Value) -> AttributeValue | EvaluationFault:
    if not isinstance(result, list):
        kind = SCALARS.get(type(result))
        if kind is None:
            return EvaluationFault(f"unsupported CEL return type: {type_name(result)}")
        return AttributeValue(kind, _scalar(result))
    if not result:
        return AttributeValue(AttributeKind.STRINGS, ())
    kind = SCALARS.get(type(result[0]))
    if kind is None:
        return EvaluationFault(f"unsupported list element type: {type_name(result[0])}")
    for index, element in enumerate(result):
        if type(element) is not type(result[0]):
            wanted, got = type_name(result[0]), type_name(element)
            return EvaluationFault(
                f"expected list element at index {index} to be {wanted}, got {got}"
            )
    return AttributeValue(AttributeKind(f"{kind}s"), tuple(map(_scalar, result)))


def _scalar(value: Value) -> Scalar:
    return value if isinstance(value, bool | int | str) else str(value)
