"""Estimated costs: the figures are upstream's, of k8s.io/dynamic-resource-allocation 0.37.2."""

from typing import Final

import pytest

from dra_console.allocator.cel.checking import STORED, Dialect, check
from dra_console.allocator.cel.cost import estimated_cost
from dra_console.allocator.cel.selectors import CompileFault, Program, SelectorEngine
from dra_console.allocator.cel.tree import CheckedTree
from dra_console.allocator.rules import DEFAULT_FEATURES
from tests.unit.allocator.test_cel_cases import NONE

NEW: Final = Dialect.of_new(DEFAULT_FEATURES)
COSTS: Final = [
    ('device.driver == "d"', 3),
    ('device.attributes["d"].flag', 4),
    ('device.attributes["d"].name == "fish"', 5),
    ('device.attributes["d"].name.includes("fish")', 68),
    ('"fish" in device.attributes["d"].name', 68),
    ('has(device.attributes["d"].name)', 3),
    ('device.attributes["d"].?name.orValue("") == "fish"', 6),
    ('device.capacity["d"].mem.compareTo(quantity("40Gi")) >= 0', 7),
    ('device.attributes["d"].name.matches("^A(100|30)$")', 25),
    ('device.attributes["d"].name.lowerAscii().contains("tesla")', 18),
    ('device.attributes["d"].name.find("[0-9]+") == "100"', 19),
    ('device.attributes.exists(domain, domain.startsWith("dra"))', 195),
    ('device.attributes["d"].exists(name, name.size() > 3)', 228),
    ("device.attributes.all(d, m, m.all(k, v, k != d))", 12_451),
    ('cel.bind(d, device.attributes["d"], d.a && d.b)', 17),
    ("[1, 2, 3].map(x, x * 2).sum() == 12", 67),
    ('["a", "bc"].join(",").split(",") == ["a", "bc"]', 5_534_023_222_112_865_813),
    ('device.attributes["d"].name.replace("a", "bb").size() < 200', 19),
    ("lists.range(100).all(a, lists.range(100).all(b, a + b >= 0))", 81_612),
    ('device.attributes["d"].v.isGreaterThan(semver("1.0.0"))', 6),
    ('cidr("10.0.0.0/8").containsIP(device.attributes["d"].address)', 16),
    ("format.dns1123Label().validate(device.driver).hasValue()", 228),
    ('sets.contains(device.attributes["d"].names, ["fish"])', 79),
    ('type(device.attributes["d"].name) == string', 1_844_674_407_370_955_270),
    ('string(device.attributes["d"].num) + "x" == "1x"', 19),
    ('[3, 1].sort() == [1, 3] && ["b", "a"].distinct().reverse() == ["a", "b"]', 95),
    ('device.attributes["d"].flag ? device.attributes["d"].name == "a" : true', 9),
    ('"%s-%d".format([device.driver, 1]) == "d-1"', 14),
    ('url("http://a.b/c").getHost() == "a.b"', 4),
    ('{"a": 1, "b": 2}.transformMap(k, v, v + 1) == {"a": 2, "b": 3}', 102),
]
TOO_COSTLY: Final = "lists.range(1000).all(a, lists.range(1000).all(b, a + b >= 0))"


@pytest.mark.parametrize(("expression", "cost"), COSTS)
def test_estimate_is_upstreams(expression: str, cost: int) -> None:
    tree = check(expression, STORED)

    assert isinstance(tree, CheckedTree), str(tree)
    assert estimated_cost(tree) == cost


def test_new_expression_that_may_cost_too_much_is_refused() -> None:
    fault = SelectorEngine().compile(TOO_COSTLY, NEW)

    assert isinstance(fault, CompileFault)
    assert fault.is_too_complex
    assert str(fault).startswith("too complex, exceeds cost limit: it may cost 8")


def test_stored_expression_that_may_cost_too_much_is_still_used() -> None:
    assert isinstance(SelectorEngine().compile(TOO_COSTLY, STORED), Program)


def test_new_expression_may_cost_up_to_the_limit() -> None:
    within = "lists.range(166664).all(a, a >= 0 && true)"
    beyond = "lists.range(166665).all(a, a >= 0 && true)"

    assert isinstance(SelectorEngine().compile(within, NEW), Program)
    assert isinstance(SelectorEngine().compile(beyond, NEW), CompileFault)


def test_attribute_is_no_list_while_the_gate_is_off() -> None:
    fault = SelectorEngine().compile('device.attributes["d"].names.exists(n, n == "a")', NEW)

    assert isinstance(fault, CompileFault)
    assert "cannot be the range of a comprehension" in fault.message


def nested(first: str, step: str, levels: int) -> str:
    """Write `cel.bind` in `cel.bind`, each value made of the one before; the last is `last`."""
    names = [f"a{level}" for level in range(levels)]
    values = [first, *(step.replace("@", name) for name in names)]
    bound = zip([*names, "last"], values, strict=True)
    opening = "".join(f"cel.bind({name}, {value}, " for name, value in bound)
    return f"{opening}BODY{')' * (levels + 1)}"


@pytest.mark.parametrize(
    "expression",
    [
        nested("[1, 2, 3, 4]", "@ + @", 24).replace("BODY", "last.size() > 0"),
        nested("[1]", "[@, @]", 24).replace("BODY", "last == last"),
        nested("[1]", "[@, @]", 24).replace("BODY", "last.flatten(30).size() > 0"),
        nested("'0123456789'", "@ + @", 24).replace("BODY", "last.size() > 0"),
        nested("'0123456789'", "@.replace('', @)", 6).replace("BODY", "last.size() > 0"),
        nested("[1, 2, 3, 4]", "@ + @", 14).replace("BODY", "sets.contains(last, last)"),
        nested("[1, 2, 3, 4]", "@ + @", 14).replace("BODY", "last.distinct() == [1]"),
        "lists.range(1000000).map(x, lists.range(1000000)).size() > 0",
    ],
)
def test_short_expression_cannot_take_long(expression: str) -> None:
    program = SelectorEngine().compile(expression, STORED)

    assert isinstance(program, Program), str(program)
    assert str(program.evaluate(NONE)) == "CEL runtime error: actual cost limit exceeded"
