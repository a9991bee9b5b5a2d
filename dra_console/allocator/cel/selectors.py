"""CEL selectors: compile once, evaluate once per class of equal devices.

Outcomes are values, not exceptions: an expression compiles to a `Program` or to a
`CompileFault` with its position; a program answers True, False, or an `EvaluationFault`,
which is fatal for an allocation and never means "no match".

Two devices that agree on everything an expression reads get one evaluation; the answer is
kept with the program. So evaluations number the kinds of devices, not the devices.
"""

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import cache
from threading import Lock
from typing import Final

from dra_console.allocator.cel.checking import STORED, Dialect, check
from dra_console.allocator.cel.checks import fault_of
from dra_console.allocator.cel.cost import estimated_cost
from dra_console.allocator.cel.evaluation import compiled
from dra_console.allocator.cel.faults import CompileFault, EvaluationFault
from dra_console.allocator.cel.frames import Frame, Meter, Step
from dra_console.allocator.cel.reads import Read, Reads, reads_of
from dra_console.allocator.cel.tree import Kind
from dra_console.allocator.cel.values import CostExceededError, EvaluationError, type_name
from dra_console.allocator.cel.variables import device_variables
from dra_console.allocator.facts import DeviceFacts

__all__ = [
    "CompileFault",
    "EvaluationFault",
    "Program",
    "SelectorEngine",
    "default_engine",
    "projection",
]

EXPRESSION_LIMIT_BYTES: Final = 10_240
COST_LIMIT: Final = 1_000_000
"""Of a new expression's estimate, and of every evaluation."""
PROGRAM_LIMIT: Final = 1_024
"""Expressions kept; a cluster has dozens."""
OUTCOME_LIMIT: Final = 65_536
"""Kinds of devices kept per expression."""
HINT: Final = ", consider has(), or .?{key} with orValue()"
MISSING: Final = "no such key: "


@dataclass(slots=True)
class Program:
    """A compiled selector with the answers it has given."""

    expression: str
    reads: Reads
    _step: Step
    _outcomes: dict[Hashable, bool | EvaluationFault] = field(default_factory=dict)
    evaluations: int = 0
    """How often the expression was really evaluated."""

    def evaluate(self, facts: DeviceFacts) -> bool | EvaluationFault:
        """Tell whether the device matches."""
        key = projection(facts, self.reads)
        outcome = self._outcomes.get(key)
        if outcome is None:
            outcome = self.evaluate_anew(facts)
            if len(self._outcomes) >= OUTCOME_LIMIT:
                self._outcomes.clear()
            self._outcomes[key] = outcome
        return outcome

    def evaluate_anew(self, facts: DeviceFacts) -> bool | EvaluationFault:
        """Tell whether the device matches, without the answers given before."""
        self.evaluations += 1
        if facts.fault is not None:
            return EvaluationFault(facts.fault)
        try:
            value = self._step(Frame(device_variables(facts), Meter(COST_LIMIT)))
        except EvaluationError as error:
            return EvaluationFault(with_hint(str(error)))
        except CostExceededError:
            return EvaluationFault("actual cost limit exceeded")
        if isinstance(value, bool):
            return value
        return EvaluationFault(
            f"CEL result of type {type_name(value)} could not be converted to bool"
        )


class SelectorEngine:
    """Compiles expressions and keeps the programs; safe for use by several threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._programs: OrderedDict[tuple[str, Dialect], Program | CompileFault] = OrderedDict()

    def compile(self, expression: str, dialect: Dialect = STORED) -> Program | CompileFault:
        """Compile and type-check, or return what is wrong and where."""
        known = (expression, dialect)
        with self._lock:
            program = self._programs.get(known)
            if program is not None:
                self._programs.move_to_end(known)
                return program
        program = _compile(expression, dialect)
        with self._lock:
            program = self._programs.setdefault(known, program)
            if len(self._programs) > PROGRAM_LIMIT:
                self._programs.popitem(last=False)
        return program


@cache
def default_engine() -> SelectorEngine:
    """Return the engine that the whole process shares."""
    return SelectorEngine()


def _compile(expression: str, dialect: Dialect) -> Program | CompileFault:
    size_bytes = len(expression.encode(errors="surrogatepass"))
    if size_bytes > EXPRESSION_LIMIT_BYTES:
        return CompileFault(f"must be at most {EXPRESSION_LIMIT_BYTES} bytes, got {size_bytes}")
    tree = check(expression, dialect)
    if isinstance(tree, CompileFault):
        return tree
    fault = fault_of(tree, expression, attribute=Kind.DYN if dialect.has_lists else Kind.ANY)
    if fault is not None:
        return fault
    if dialect.is_new:
        cost = estimated_cost(tree)
        if cost > COST_LIMIT:
            return CompileFault(
                f"too complex, exceeds cost limit: it may cost {cost}, the limit is {COST_LIMIT}",
                is_too_complex=True,
            )
    return Program(expression, reads_of(tree.root), compiled(tree.root))


def projection(facts: DeviceFacts, reads: Reads) -> Hashable:
    """Name the class of devices that no expression with these reads can tell apart."""
    if reads.is_whole_device:
        return facts
    return (
        facts.driver,
        facts.allow_multiple_allocations,
        facts.fault,
        *(_value(facts, read) for read in reads.names),
    )


def _value(facts: DeviceFacts, read: Read) -> Hashable:
    domains = facts.attributes if read.group == "attributes" else facts.capacity
    values = domains.get(read.domain, {})
    if read.name is None:
        return tuple(sorted(values.items(), key=lambda item: item[0]))
    return values.get(read.name)


def with_hint(message: str) -> str:
    """Say what to write where a key may be missing."""
    if not message.startswith(MISSING):
        return message
    return message + HINT.format(key=message.removeprefix(MISSING))
