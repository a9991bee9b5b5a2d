"""Evidence in words: which clause of which selector, and how much of which capacity.

What is said here is said of many devices at once, so no device and no node is named.
"""

from typing import Final

from dra_console.allocator.cel import text as cel_text
from dra_console.allocator.cel.selectors import CompileFault, EvaluationFault, SelectorEngine
from dra_console.allocator.inventory import Device
from dra_console.allocator.quantity import Quantity
from dra_console.allocator.rules import Feature
from dra_console.allocator.search.matching import Selector
from dra_console.allocator.world.capacity import Amounts, consumption
from dra_console.allocator.world.pools import PublishedDevice

LONGEST_EXPRESSION: Final = 400
"""Characters of an expression that are repeated."""

NOTHING: Final = Quantity(0)


def failed_clause(
    selector: Selector, published: PublishedDevice, *, whose: str, engine: SelectorEngine
) -> str:
    """Name the top-level clause to which a selector owes its answer, false or an error.

    As in `clause is false (selector #0 of class gpu: clause && another)`. A false clause
    settles the answer whatever the others are; an error counts only if no clause is false.
    """
    expression = selector.expression or ""
    where = f"selector #{selector.index} of {whose}"
    clauses = cel_text.clauses(expression)
    if len(clauses) == 1:
        return f"{_fault(expression, published, engine=engine)} ({where})"
    where = f"{where}: {shortened(expression)}"
    answers = {clause: _answer(clause, published, engine=engine) for clause in clauses}
    for clause, answer in answers.items():
        if answer is False:
            return f"{shortened(clause)} is false ({where})"
    for clause, answer in answers.items():
        if isinstance(answer, EvaluationFault):
            return f"{shortened(clause)} fails: {answer.message} ({where})"
    return f"{_fault(expression, published, engine=engine)} ({where})"


def shortened(expression: str) -> str:
    """Keep the beginning of an expression that is too long to repeat, on one line."""
    line = " ".join(expression.split())
    return line if len(line) <= LONGEST_EXPRESSION else f"{line[:LONGEST_EXPRESSION]} ..."


def shortfall(
    device: Device,
    *,
    requested: Amounts,
    booked: Amounts,
    shares: int,
    is_fractional: bool,
) -> str:
    """Say which capacity of the device is too low for a request, and by how much."""
    for name, amount in requested.items():
        if name not in device.capacity:
            return f"the device has no capacity {name}"
        if consumption(device, requested={name: amount}, is_fractional=is_fractional) is None:
            return f"capacity {name} cannot be had in an amount of {amount}, by the device's policy"
    beside = f" beside {shares} {'share' if shares == 1 else 'shares'}" if shares else ""
    amounts = consumption(device, requested=requested, is_fractional=is_fractional) or {}
    for name, amount in amounts.items():
        total = device.capacity[name].value
        left = total - booked.get(name, NOTHING)
        if left < amount:
            return (
                f"capacity {name} is short by {amount - left}: "
                f"{amount} of {total} wanted, {left} left{beside}"
            )
    return f"the device has too little capacity left{beside}"


def gate_is_off(published: PublishedDevice) -> str:
    """Name the feature gate without which a device cannot be given."""
    if published.is_hidden:
        gate, what = Feature.BINDING_CONDITIONS, "binding conditions"
    elif published.device.consumes_counters:
        gate, what = Feature.PARTITIONABLE_DEVICES, "shared counters"
    else:
        gate, what = Feature.OPTIONAL_NODE_OPERATIONS, "node operations that are skipped"
    return f"the device has {what}, and the feature gate {gate.value} is off"


def _answer(
    expression: str, published: PublishedDevice, *, engine: SelectorEngine
) -> bool | EvaluationFault | CompileFault:
    program = engine.compile(expression)
    return program if isinstance(program, CompileFault) else program.evaluate(published.facts)


def _fault(expression: str, published: PublishedDevice, *, engine: SelectorEngine) -> str:
    match _answer(expression, published, engine=engine):
        case CompileFault() as fault:
            return f"{shortened(expression)} is no selector: {fault}"
        case EvaluationFault() as fault:
            return f"{shortened(expression)} fails: {fault.message}"
        case _:
            return f"{shortened(expression)} is false"
