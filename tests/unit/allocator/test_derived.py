"""Derived attributes (KEP-6080): constraints over what expressions compute."""

from collections.abc import Sequence

import pytest

from dra_console.allocator.cel.derived import Derivation, derivation
from dra_console.allocator.cel.faults import CompileFault, EvaluationFault
from dra_console.allocator.facts import DeviceFacts, facts_of
from dra_console.allocator.inventory import AttributeKind, AttributeValue, Scalar
from dra_console.allocator.model import Json, JsonObject
from dra_console.allocator.rules import Feature
from tests.unit.allocator.worlds import answer, claim, dev, pool, r, snapshot, with_gates

DERIVED = with_gates(Feature.DERIVED_ATTRIBUTES)
WITH_LISTS = with_gates(Feature.DERIVED_ATTRIBUTES, Feature.LIST_TYPE_ATTRIBUTES)
HALF = 'device.attributes["a"].n / 2'


def numbered(*numbers: int) -> list[JsonObject]:
    return [pool("p", *(dev(f"d{at}", attributes={"n": n}) for at, n in enumerate(numbers)))]


def deriving(name: str, expression: str, *, count: int = 1) -> JsonObject:
    return r(derivedAttributes=[{"name": name, "expression": expression}], count=count)


TABLE = [
    pytest.param(
        claim(deriving("d/half", HALF, count=2), match=[("d/half", [])]),
        numbered(1, 2, 3),
        "r=p/d1 r=p/d2",
        id="devices match in what is computed",
    ),
    pytest.param(
        claim(deriving("d/half", HALF, count=2), distinct=[("d/half", [])]),
        numbered(2, 3, 4),
        "r=p/d0 r=p/d2",
        id="devices differ in what is computed",
    ),
    pytest.param(
        claim(deriving("a/n", "1", count=2), match=[("a/n", [])]),
        numbered(1, 2),
        "r=p/d0 r=p/d1",
        id="what is computed hides what is published",
    ),
    pytest.param(
        claim(deriving("d/none", HALF, count=2), match=[("a/n", [])]),
        numbered(1, 2, 1),
        "r=p/d0 r=p/d2",
        id="what is published is seen beside it",
    ),
    pytest.param(
        claim(deriving("d/x", 'device.attributes["a"].none'), match=[("d/x", [])]),
        numbered(1),
        "FATAL: evaluate derived attribute d/x on device a/p/d0 failed: CEL runtime error: "
        "no such key: none, consider has(), or .?none with orValue()",
        id="an expression that fails",
    ),
    pytest.param(
        claim(deriving("d/x", 'device.attributes["a"].none')),
        numbered(1),
        "r=p/d0",
        id="an expression that no constraint asks for is not evaluated",
    ),
    pytest.param(
        claim(deriving("d/x", "device.attributes"), match=[("d/x", [])]),
        numbered(1),
        "FATAL: claim t/c0, request r: compile derived attribute d/x failed: compilation failed: "
        "must evaluate to a primitive scalar (string, integer, boolean, semver) or a list of "
        "these scalars, not map(string, map(string, dyn))",
        id="an expression of another type",
    ),
]


@pytest.mark.parametrize(("asked", "world", "expected"), TABLE)
def test_constraint_over_a_derived_attribute(
    asked: JsonObject, world: Sequence[JsonObject], expected: str
) -> None:
    assert answer([asked], world, rules=DERIVED) == expected


def test_alternatives_derive_each_for_itself() -> None:
    alternatives: list[Json] = [
        {
            "name": name,
            "deviceClassName": "A",
            "count": 2,
            "derivedAttributes": [{"name": "d/x", "expression": expression}],
        }
        for name, expression in (("s0", 'device.attributes["a"].n'), ("s1", HALF))
    ]
    asked = claim({"name": "r", "firstAvailable": alternatives}, match=[("d/x", [])])

    assert answer([asked], numbered(2, 3), rules=DERIVED) == "r/s1=p/d0 r/s1=p/d1"


def test_derived_lists_are_sets_where_lists_are() -> None:
    around = 'cel.bind(n, device.attributes["a"].n, [n, dyn(n + 1)])'
    asked = claim(deriving("d/x", around, count=2), match=[("d/x", [])])

    assert answer([asked], numbered(1, 3, 2), rules=WITH_LISTS) == "r=p/d0 r=p/d2"
    assert answer([asked], numbered(1, 3, 2), rules=DERIVED) == "NONE"


def test_failing_expression_is_reached_only_if_nothing_stands_before_it() -> None:
    fails_on_one = 'device.attributes["a"].n == 1 ? device.attributes["a"].none : 2'
    asked = claim(deriving("d/x", fails_on_one), match=[("d/x", [])])

    assert answer([asked], numbered(2, 1), rules=DERIVED) == "r=p/d0"
    assert answer([asked], numbered(1, 2), rules=DERIVED).startswith("FATAL")


def facts(**attributes: Json) -> DeviceFacts:
    state = snapshot(pool("p", dev("x", attributes={**attributes})))
    return facts_of(state.slices[0].devices[0], driver="a")


@pytest.mark.parametrize(
    ("expression", "kind", "value"),
    [
        ("1 == 1", AttributeKind.BOOL, True),
        ("1 + 1", AttributeKind.INT, 2),
        ("device.driver", AttributeKind.STRING, "a"),
        ('semver("1.2.3-rc.1+build")', AttributeKind.VERSION, "1.2.3-rc.1+build"),
        ('device.attributes["a"].version', AttributeKind.VERSION, "1.0.0+a"),
        ("[1, 2]", AttributeKind.INTS, (1, 2)),
        ("[true]", AttributeKind.BOOLS, (True,)),
        ('["x"]', AttributeKind.STRINGS, ("x",)),
        ('[semver("1.0.0")]', AttributeKind.VERSIONS, ("1.0.0",)),
        ('["x"].filter(each, each == "y")', AttributeKind.STRINGS, ()),
    ],
)
def test_kinds_of_values(
    expression: str, kind: AttributeKind, value: Scalar | tuple[Scalar, ...]
) -> None:
    program = derivation(expression)

    assert isinstance(program, Derivation)
    assert program.value(facts(version={"version": "1.0.0+a"})) == AttributeValue(kind, value)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("dyn(1.5)", "unsupported CEL return type: double"),
        ("[dyn(1.5)]", "unsupported list element type: double"),
        ('[dyn(1), dyn("x")]', "expected list element at index 1 to be int, got string"),
    ],
)
def test_value_that_is_no_attribute(expression: str, message: str) -> None:
    program = derivation(expression)

    assert isinstance(program, Derivation)
    assert program.value(facts()) == EvaluationFault(message)


@pytest.mark.parametrize("expression", ["1.5", "{1: 2}", 'quantity("1")', "[[1]]"])
def test_expression_of_a_type_that_no_attribute_has(expression: str) -> None:
    found = derivation(expression)

    assert isinstance(found, CompileFault)
    assert "must evaluate to a primitive scalar" in str(found)
