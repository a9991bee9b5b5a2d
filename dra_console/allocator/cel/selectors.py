"""CEL selectors: compile once, evaluate once per class of equal devices.

Outcomes are values, not exceptions: an expression compiles to a `Program` or to a
`CompileFault` with its position; a program answers True, False, or an `EvaluationFault`,
which is fatal for an allocation and never means "no match".

Two devices that agree on everything an expression reads get one evaluation; the answer is
kept with the program. So evaluations number the kinds of devices, not the devices.

The engine is not safe for use by several threads, and its callbacks run under the
interpreter's lock anyway: one lock guards every call into it.
"""

import re
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import cache
from threading import Lock
from typing import Final

from cel_expr_python import cel

from dra_console.allocator.cel import library as cel_library
from dra_console.allocator.cel import text as cel_text
from dra_console.allocator.cel.values import device_variables
from dra_console.allocator.facts import DeviceFacts

EXPRESSION_LIMIT_BYTES: Final = 10_240
PROGRAM_LIMIT: Final = 1_024
"""Expressions kept; a cluster has dozens."""
OUTCOME_LIMIT: Final = 65_536
"""Kinds of devices kept per expression."""
MESSAGE: Final = re.compile(r"ERROR: <input>:(?P<line>\d+):(?P<column>\d+): (?P<text>[^\n]*)")
UNDECLARED_FIELD: Final = re.compile(r"undeclared reference to 'device\.(?P<field>\w+)'")
MISSING_KEY: Final = re.compile(r'Key not found in map : "(?P<key>.*)"', re.DOTALL)
STATUS: Final = re.compile(r"^[A-Z_]+: (?P<text>.*?)(?: \[[A-Z_]+\])?$", re.DOTALL)
ENGINE_ERRORS: Final = (RuntimeError, TypeError, ValueError, OverflowError)
"""Seen from the engine; the first is the usual one, the others came out of fuzzing."""


@dataclass(frozen=True, slots=True)
class CompileFault:
    """Why an expression is not a selector, and where (from 1; `None` if nowhere in particular)."""

    message: str
    line: int | None = None
    column: int | None = None
    hint: str | None = None

    def __str__(self) -> str:
        where = "" if self.line is None else f"line {self.line}, column {self.column}: "
        hint = f"; {self.hint}" if self.hint else ""
        return f"compilation failed: {where}{self.message}{hint}"


@dataclass(frozen=True, slots=True)
class EvaluationFault:
    """Why an expression could not be evaluated on a device."""

    message: str

    def __str__(self) -> str:
        return f"CEL runtime error: {self.message}"


@dataclass(slots=True)
class Program:
    """A compiled selector with the answers it has given."""

    expression: str
    reads: cel_text.Reads
    _compiled: cel.Expression
    _lock: Lock
    _named_domains: frozenset[str]
    _outcomes: dict[Hashable, bool | EvaluationFault] = field(default_factory=dict)
    evaluations: int = 0
    """How often the engine was really asked."""

    def evaluate(self, facts: DeviceFacts) -> bool | EvaluationFault:
        """Tell whether the device matches."""
        key = projection(facts, self.reads)
        outcome = self._outcomes.get(key)
        if outcome is None:
            outcome = self._outcome(facts)
            if len(self._outcomes) >= OUTCOME_LIMIT:
                self._outcomes.clear()
            self._outcomes[key] = outcome
        return outcome

    def _outcome(self, facts: DeviceFacts) -> bool | EvaluationFault:
        self.evaluations += 1
        if facts.fault is not None:
            return EvaluationFault(facts.fault)
        variables = device_variables(facts, named_domains=self._named_domains)
        try:
            with self._lock:
                result = self._compiled.eval(data=variables)
                kind, value = result.type().name(), result.value()
        except ENGINE_ERRORS as error:
            return EvaluationFault(_runtime_message(str(error)))
        if isinstance(value, bool):
            return value
        if kind == "ERROR":
            return EvaluationFault(_runtime_message(str(value)))
        return EvaluationFault(f"CEL result of type {kind.lower()} could not be converted to bool")


class SelectorEngine:
    """Compiles expressions and keeps the programs; safe for use by several threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._environment = cel_library.new_environment()
        self._evaluation_environment = cel_library.new_evaluation_environment()
        self._programs: OrderedDict[str, Program | CompileFault] = OrderedDict()

    def compile(self, expression: str) -> Program | CompileFault:
        """Compile and type-check, or return what is wrong and where."""
        with self._lock:
            known = self._programs.get(expression)
            if known is not None:
                self._programs.move_to_end(expression)
                return known
            compiled = self._compile(expression)
            self._programs[expression] = compiled
            if len(self._programs) > PROGRAM_LIMIT:
                self._programs.popitem(last=False)
            return compiled

    def _compile(self, expression: str) -> Program | CompileFault:
        size_bytes = len(expression.encode())
        if size_bytes > EXPRESSION_LIMIT_BYTES:
            return CompileFault(f"must be at most {EXPRESSION_LIMIT_BYTES} bytes, got {size_bytes}")
        unknown = cel_text.unknown_device_field(expression)
        if unknown is not None:
            name, (line, column) = unknown
            return CompileFault(f"undefined field '{name}'", line, column)
        try:
            compiled = self._environment.compile(expression)
            result = compiled.return_type().name()
            real = cel_text.with_real_domains(expression)
            if real != expression:
                compiled = self._evaluation_environment.compile(real)
        except ENGINE_ERRORS as error:
            return _compile_fault(expression, str(error))
        if result not in {"BOOL", "DYN"}:
            return CompileFault(f"must evaluate to bool or the unknown type, not {result.lower()}")
        return Program(
            expression=expression,
            reads=cel_text.reads(expression),
            _compiled=compiled,
            _lock=self._lock,
            _named_domains=cel_text.texts(expression),
        )


@cache
def default_engine() -> SelectorEngine:
    """Return the engine that the whole process shares."""
    return SelectorEngine()


def projection(facts: DeviceFacts, reads: cel_text.Reads) -> Hashable:
    """Name the class of devices that no expression with these reads can tell apart."""
    if reads.is_whole_device:
        return facts
    return (
        facts.driver,
        facts.allow_multiple_allocations,
        facts.fault,
        *(_value(facts, read) for read in reads.names),
    )


def _value(facts: DeviceFacts, read: cel_text.Read) -> Hashable:
    domains = facts.attributes if read.group == "attributes" else facts.capacity
    values = domains.get(read.domain, {})
    if read.name is None:
        return tuple(sorted(values.items(), key=lambda item: item[0]))
    return values.get(read.name)


def _compile_fault(expression: str, report: str) -> CompileFault:
    quote = cel_text.typographic_quote(expression)
    if quote is not None:
        character, (line, column) = quote
        return CompileFault(
            f"typographic quote {character} (U+{ord(character):04X})",
            line,
            column,
            hint="use the plain quotes \" or ' around texts",
        )
    found = MESSAGE.search(report)
    if found is None:
        return CompileFault(_runtime_message(report))
    text = UNDECLARED_FIELD.sub(r"undefined field '\g<field>'", found["text"])
    text = text.removesuffix(" (in container '')")
    return CompileFault(text, int(found["line"]), int(found["column"]))


def _runtime_message(report: str) -> str:
    missing = MISSING_KEY.search(report)
    if missing is not None:
        key = missing["key"]
        return f"no such key: {key}, consider has(), or .?{key} with orValue()"
    if "Iteration budget exceeded" in report:
        return "actual cost limit exceeded"
    found = STATUS.match(report)
    text = found["text"] if found else report
    return text.replace("No matching overloads found : ", "no such overload: ")
