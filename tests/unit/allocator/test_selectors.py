"""`dra-semantics.md` section 2 and 6.14: CEL selectors.

`DIVERGENCES` and `AT_RUN_TIME` list what Kubernetes' environment has and this one does not,
`OTHER_ANSWERS` where the two differ, each with the reason that it is left so. Beside these the
two agree, on thousands of expressions (`tests/oracle/test_selectors_agree.py`).
"""

from concurrent.futures import ThreadPoolExecutor

import pytest

from dra_console.allocator.cel.selectors import (
    CompileFault,
    EvaluationFault,
    Program,
    SelectorEngine,
    default_engine,
)
from dra_console.allocator.decoding.decode import decode_slice
from dra_console.allocator.facts import DeviceFacts, facts_of
from dra_console.allocator.model import Json
from tests.builders.objects import a_device, a_slice


def facts(attributes: dict[str, Json]) -> DeviceFacts:
    """Build what selectors see of a device of driver `d` with 1Mi of capacity `mem`."""
    body = a_device("x", memory=None, attributes=attributes) | {
        "capacity": {"mem": {"value": "1Mi"}}
    }
    decoded = decode_slice(a_slice(driver="d", devices=[body]))
    return facts_of(decoded.devices[0], driver="d")


BARE = facts({})
FULL = facts(
    {
        "flag": True,
        "num": 1,
        "name": "fish",
        "names": {"strings": ["fish", "bird"]},
        "numbers": {"ints": [*range(49)]},
        "v": {"version": "1.0.0+build"},
        "a": True,
        "b": True,
        "x/y": True,
    }
)


def compiled(expression: str) -> Program:
    program = default_engine().compile(expression)
    assert isinstance(program, Program), str(program)
    return program


def evaluated(expression: str, device: DeviceFacts = FULL) -> bool | str:
    """Return the answer, or the message of the fault."""
    answer = compiled(expression).evaluate(device)
    return answer if isinstance(answer, bool) else answer.message


def fault(expression: str) -> CompileFault:
    answer = default_engine().compile(expression)
    assert isinstance(answer, CompileFault)
    return answer


TRUTHS = [
    ("true", True),
    ("false", False),
    ('device.driver == "d"', True),
    ('"x" in device.attributes', True),
    ('"z" in device.attributes', False),
    ('device.attributes["d"].flag', True),
    ('device.attributes["d"].num > 0', True),
    ('device.attributes["d"].num < 1.5', True),
    ('device.attributes["d"].num == 1.0', True),
    ('device.attributes["d"].num == "1"', False),
    ('device.attributes["d"].v.isGreaterThan(semver("0.0.1"))', True),
    (
        (
            'device.attributes["d"].v.isGreaterThan(semver("v0.0.1", true)) '
            '&& isSemver("v1.0.0", true)'
        ),
        True,
    ),
    ('device.attributes["d"].v == semver("1.0.0")', True),
    ('device.attributes["d"].v.compareTo(semver("1.0.0-rc.1")) == 1', True),
    ('device.attributes["d"].v.major() == 1 && device.attributes["d"].v.patch() == 0', True),
    ('isSemver("v1.0.0")', False),
    ('device.capacity["d"].mem.isGreaterThan(quantity("1Ki"))', True),
    ('device.capacity["d"].mem.isLessThan(quantity("1Ki"))', False),
    ('device.capacity["d"].mem == quantity("1024Ki")', True),
    ('device.capacity["d"].mem.compareTo(quantity("1Mi")) == 0', True),
    ('device.capacity["d"].mem.add(quantity("1")).compareTo(quantity("1Mi")) == 1', True),
    ('sign(device.capacity["d"].mem.sub(1048576)) == 0', True),
    ('device.capacity["d"].mem.asInteger() == 1048576', True),
    ('quantity("500m").isInteger()', False),
    ('quantity("500m").asApproximateFloat() == 0.5', True),
    ('isQuantity("1Gi") && !isQuantity("1gi")', True),
    ('cel.bind(d, device.attributes["d"], d.a && d.b)', True),
    ('cel.bind(x, device, x.attributes["d"].flag)', True),
    ('device.attributes["d"].name.includes("fish")', True),
    ('device.attributes["d"].name.includes(1)', False),
    ('device.attributes["d"].names.includes("bird")', True),
    ('device.attributes["d"].names.includes("cat")', False),
    ('"bird" in device.attributes["d"].names', True),
    ('sets.contains(device.attributes["d"].names, ["bird"])', True),
    ('device.attributes["d"].numbers.includes(4)', True),
    ("device.allowMultipleAllocations == false", True),
    ('has(device.attributes["no"].thing)', False),
    ('"thing" in device.attributes["no"]', False),
    ('device.attributes["no"].?thing.orValue(true)', True),
    ('device.attributes[?"no"].hasValue()', True),
    ('device.attributes.exists(d, d == "no")', False),
    ('device.attributes.exists(d, d == "x")', True),
    ("device.attributes[device.driver].flag", True),
    ('device.attributes["no"].x && false', False),
    ('true || device.attributes["no"].x', True),
    ('device.attributes["d"].name.lowerAscii().matches("^f.*h$")', True),
    ('{"a": 1}.all(k, v, k == "a" && v == 1)', True),
]


@pytest.mark.parametrize(("expression", "expected"), TRUTHS)
def test_truth(expression: str, expected: bool) -> None:
    assert evaluated(expression) is expected


FAULTS = [
    ('device.attributes["x"].z.isGreaterThan(quantity("0"))', "no such key: z"),
    ('device.attributes["d"].missing', "no such key: missing"),
    ('device.attributes["no"].missing', "no such key: missing"),
    ('sign(device.capacity["d"].missing) == 0', "no such key: missing"),
    ('device.attributes["d"].names', "CEL result of type list could not be converted to bool"),
    ('device.attributes["d"].num', "CEL result of type int could not be converted to bool"),
    ('device.attributes["d"].name > 3', "no such overload"),
    ('device.attributes["d"].name.exists(x, true)', "got 'string', expected iterable type"),
    ('device.attributes["d"].v.compareTo(quantity("1")) == 1', "no such overload"),
    ('quantity("zz").isInteger()', "expected a quantity such as 80Gi, 500m or 2, got 'zz'"),
    (
        f"[{','.join('1' * 1000)}].all(a, [{','.join('1' * 1000)}].all(b, a + b > 0))",
        "actual cost limit exceeded",
    ),
    ("lists.range(50000000).size() > 0", "exceeds maximum allowed"),
]


@pytest.mark.parametrize(("expression", "expected"), FAULTS)
def test_runtime_error_is_told_apart_from_false(expression: str, expected: str) -> None:
    assert expected in str(evaluated(expression))


def test_missing_key_comes_with_a_hint() -> None:
    assert evaluated('device.attributes["d"].ecc', BARE) == (
        "no such key: ecc, consider has(), or .?ecc with orValue()"
    )


@pytest.mark.parametrize(
    ("attribute", "expected"),
    [
        ({}, "attribute odd: unsupported attribute value"),
        ({"version": "v1"}, "attribute odd: parse semantic version: expected a semantic version"),
    ],
)
def test_device_with_a_bad_attribute_fails_every_selector(attribute: Json, expected: str) -> None:
    assert str(evaluated("true", facts({"odd": attribute}))).startswith(expected)


COMPILE_FAULTS = [
    ("?!", 1, 1, "Syntax error"),
    ("1", None, None, "must evaluate to bool or the unknown type, not int"),
    ("noSuchVar", 1, 1, "undeclared reference to 'noSuchVar'"),
    ('device.name == "x"', 1, 7, "undefined field 'name'"),
    ("true &&\n  noSuchVar", 2, 3, "undeclared reference to 'noSuchVar'"),
    (
        'device.capacity["d"].mem >= quantity("1")',
        1,
        26,
        (
            "found no matching overload for '_>=_' applied to "
            "'(kubernetes.Quantity, kubernetes.Quantity)'"
        ),
    ),
    ('device.capacity["d"].mem > 40', 1, 26, "found no matching overload for '_>_'"),
    ("device.driver == Model X", 1, 24, "Syntax error"),
    ("device.driver == \u201cx\u201d", 1, 18, "typographic quote \u201c (U+201C)"),
    ("device.attributes[\u2018x\u2019].y == 1", 1, 19, "typographic quote \u2018 (U+2018)"),
    ("math.greatest(1, 2) == 2", 1, 1, "undeclared reference to 'math'"),
    (f"{' ' * 10_240}true", None, None, "must be at most 10240 bytes, got 10244"),
]


@pytest.mark.parametrize(("expression", "line", "column", "message"), COMPILE_FAULTS)
def test_compile_error_has_its_place(
    expression: str, line: int | None, column: int | None, message: str
) -> None:
    found = fault(expression)

    assert (found.line, found.column) == (line, column)
    assert found.message.startswith(message)


def test_typographic_quotes_come_with_a_hint() -> None:
    assert (
        fault("device.driver == \u201cx\u201d").hint == "use the plain quotes \" or ' around texts"
    )


DIVERGENCES = [
    pytest.param(
        f"{'!(' * 40}true{')' * 40}", id="operations nest 32 deep, parentheses any; upstream 250"
    ),
    pytest.param(
        "[1].sortBy(i, i) == [1]", id="sortBy is a macro, which the engine cannot be taught"
    ),
    pytest.param(
        'google.protobuf.Duration{seconds: 1} == duration("1s")',
        id="messages cannot be written: devices hold none, duration() makes this one",
    ),
]
AT_RUN_TIME = [
    pytest.param(
        'timestamp("2020-01-01T00:00:00Z").getHours("Europe/Berlin") == 1',
        "unknown time zone",
        id="named time zones: they differ by machine, and no attribute is a time",
    ),
    pytest.param(
        f'"{"a" * 1001}".findAll("b*").size() == 0',
        "findAll looks at 128 characters with this pattern",
        id="findAll of what may match nothing in more than 128 characters: devices' texts have 64",
    ),
    pytest.param(
        '"%e".format([1.0]) == ""',
        "error during formatting",
        id="%e: upstream prints it with a multiplication sign and raised digits",
    ),
]
OTHER_ANSWERS = [
    pytest.param(
        'quantity("1.0").isInteger() && quantity("1000m").asInteger() == 1',
        id="isInteger, asInteger: a value is whole or not; upstream says no to these spellings",
    ),
    pytest.param(
        'quantity("1Ei").isInteger()',
        id="isInteger of 1Ei: upstream keeps it as a decimal fraction and says no",
    ),
]


@pytest.mark.parametrize("expression", OTHER_ANSWERS)
def test_divergence_in_an_answer_is_one_that_a_reader_expects(expression: str) -> None:
    assert evaluated(expression) is True


@pytest.mark.parametrize("expression", DIVERGENCES)
def test_divergence_from_kubernetes_is_a_compile_error_not_a_wrong_answer(expression: str) -> None:
    assert isinstance(default_engine().compile(expression), CompileFault)


@pytest.mark.parametrize(("expression", "message"), AT_RUN_TIME)
def test_divergence_at_run_time_is_an_error_not_a_wrong_answer(
    expression: str, message: str
) -> None:
    assert message in str(evaluated(expression))


def test_equal_devices_share_one_evaluation() -> None:
    program = SelectorEngine().compile('device.attributes["d"].name == "fish"')
    assert isinstance(program, Program)

    answers = [
        program.evaluate(facts({"name": "fish", "uuid": f"GPU-{number}"})) for number in range(5)
    ]

    assert answers == [True] * 5
    assert program.evaluations == 1


def test_patterns_and_new_expressions_are_used_by_several_threads() -> None:
    engine = SelectorEngine()

    def ask(number: int) -> bool | EvaluationFault:
        size = number % 3 + 1
        text = f'device.attributes["d"].name.find("[a-z]{{{size}}}").size() == {size}'
        program = engine.compile(text)
        assert isinstance(program, Program)
        return program.evaluate(FULL)

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(ask, range(200)))

    assert answers == [True] * 200


def test_engine_is_used_by_several_threads() -> None:
    engine = SelectorEngine()

    def ask(number: int) -> bool | EvaluationFault:
        program = engine.compile(f'device.attributes["d"].num < {number % 7}')
        assert isinstance(program, Program)
        return program.evaluate(facts({"num": number % 5}))

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(ask, range(400)))

    assert answers == [number % 5 < number % 7 for number in range(400)]
