"""What holds for every selector: random ones, of the generator that the oracle comparison uses."""

import copy
import random
from dataclasses import replace

from hypothesis import example, given, settings
from hypothesis import strategies as st

from dra_console.allocator.cel.checking import ENGINE_ERRORS, check
from dra_console.allocator.cel.environment import LOCK, Environment
from dra_console.allocator.cel.faults import CompileFault
from dra_console.allocator.cel.reads import Read
from dra_console.allocator.cel.selectors import EvaluationFault, Program, SelectorEngine
from dra_console.allocator.cel.serialized import read_checked
from dra_console.allocator.cel.text import clauses
from dra_console.allocator.cel.tree import CheckedTree
from dra_console.allocator.decoding.decode import decode_slice
from dra_console.allocator.facts import DeviceFacts, facts_of
from dra_console.allocator.inventory import AttributeKind, AttributeValue
from dra_console.allocator.quantity import Quantity
from tests.builders.objects import a_slice
from tests.oracle.expressions.cases import Case, case
from tests.oracle.expressions.templates import DRIVER

NUMBERS = st.integers(0, 1 << 40)
ENGINE = SelectorEngine()
CHANGED = AttributeValue(AttributeKind.STRING, "changed")


def devices_of(made: Case) -> list[DeviceFacts]:
    decoded = decode_slice(a_slice(driver=DRIVER, devices=list(made.devices)))
    return [facts_of(device, driver=DRIVER) for device in decoded.devices]


def compiled(made: Case) -> Program | None:
    program = ENGINE.compile(made.expression)
    return program if isinstance(program, Program) else None


@settings(max_examples=150)
@given(NUMBERS, st.randoms(use_true_random=False))
def test_what_an_expression_does_not_read_never_changes_its_answer(
    number: int, chance: random.Random
) -> None:
    made = case(7, number)
    program = compiled(made)
    if program is None or program.reads.is_whole_device:
        return
    for facts in devices_of(made):
        changed = with_everything_else_changed(facts, program.reads.names, chance)

        assert program.evaluate_anew(changed) == program.evaluate_anew(facts)


@settings(max_examples=150)
@given(NUMBERS, st.booleans())
def test_functions_that_an_expression_does_not_name_have_no_part_in_checking_it(
    number: int, has_lists: bool
) -> None:
    expression = case(7, number).expression

    assert checked(expression, is_whole=False, has_lists=has_lists) == checked(
        expression, is_whole=True, has_lists=has_lists
    )


def checked(expression: str, *, is_whole: bool, has_lists: bool) -> CheckedTree | None:
    """Check in an environment of its own; what is wrong is said by the whole one anyway."""
    environment = Environment(("driver", "attributes", "capacity"), has_lists)
    with LOCK:
        engine = environment.whole() if is_whole else environment.naming(expression)
        try:
            return read_checked(engine.compile(expression).serialize())
        except ENGINE_ERRORS:
            return None


def with_everything_else_changed(
    facts: DeviceFacts, reads: frozenset[Read], chance: random.Random
) -> DeviceFacts:
    """Drop, change or add whatever is not named."""
    attributes = {name: dict(held) for name, held in facts.attributes.items()}
    capacity = {name: dict(held) for name, held in facts.capacity.items()}
    domains = [*attributes, *capacity, "dra.example.com", "un.known", DRIVER]
    for domain in dict.fromkeys(domains):
        for group, held, value in (
            ("attributes", attributes, CHANGED),
            ("capacity", capacity, Quantity.of(7)),
        ):
            if Read(group, domain, None) in reads:
                continue
            names = ["model", "count", "healthy", "memory", "cores", "extra", *held.get(domain, {})]
            for name in dict.fromkeys(names):
                if Read(group, domain, name) not in reads:
                    if chance.random() < 0.5:
                        held.setdefault(domain, {})[name] = value  # type: ignore[assignment]
                    else:
                        held.get(domain, {}).pop(name, None)
    return replace(facts, attributes=attributes, capacity=capacity)


@settings(max_examples=150)
@given(NUMBERS)
def test_clauses_together_say_what_the_whole_says(number: int) -> None:
    made = case(8, number)
    whole = compiled(made)
    if whole is None:
        return
    parts = [ENGINE.compile(clause) for clause in clauses(made.expression)]
    for facts in devices_of(made):
        answers = [each.evaluate(facts) for each in parts if isinstance(each, Program)]
        if len(answers) < len(parts):
            continue  # a clause alone has no boolean type
        if whole.evaluate(facts) is True:
            assert all(answer is True for answer in answers)
        elif whole.evaluate(facts) is False:
            assert False in answers
        else:
            assert any(isinstance(answer, EvaluationFault) for answer in answers)


@settings(max_examples=150)
@given(NUMBERS)
def test_answers_do_not_depend_on_what_was_evaluated_before(number: int) -> None:
    made = case(9, number)
    program = compiled(made)
    if program is None:
        return
    devices = devices_of(made)
    before = copy.deepcopy([(each.attributes, each.capacity) for each in devices])

    first = [program.evaluate_anew(facts) for facts in devices]
    second = [program.evaluate_anew(facts) for facts in reversed(devices)]

    assert first == second[::-1] == [program.evaluate(facts) for facts in devices]
    assert before == [(each.attributes, each.capacity) for each in devices]


@settings(max_examples=150)
@given(
    st.text(
        alphabet=st.sampled_from([*"device.attributes[]()\"'\\{}?:!&|<>=+-*/%,0123456789abx \n`@"]),
        max_size=40,
    )
)
@example("device." * 4)
@example('dyn(optional.of("x")).includes("x")')
@example("[optional.of(1)].includes(1)")
@example("{'a': optional.of(1)}.size() == dyn(optional.of(1)).size()")
@example("'a\x00b' == 'a'")
@example("\ud800")
def test_any_text_compiles_or_has_a_fault(text: str) -> None:
    program = ENGINE.compile(text)

    assert isinstance(program, Program | CompileFault)
    assert clauses(text)
    if isinstance(program, Program):
        assert isinstance(program.evaluate(devices_of(case(1, 1))[0]), bool | EvaluationFault)


@given(NUMBERS)
def test_place_of_an_error_is_within_the_expression(number: int) -> None:
    made = case(10, number)
    fault = check(made.expression, made.dialect)

    if isinstance(fault, CompileFault) and fault.line is not None:
        lines = made.expression.split("\n")
        assert 1 <= fault.line <= len(lines)
        assert fault.column is not None
        assert 1 <= fault.column <= len(lines[fault.line - 1]) + 1
