"""What Kubernetes' CEL library answers, function by function; `make oracle` agrees."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dra_console.allocator.cel.conversions import to_double, to_string
from dra_console.allocator.cel.patterns import without_groups
from dra_console.allocator.cel.selectors import EvaluationFault, Program, default_engine
from tests.unit.allocator.test_cel_cases import NONE

TRUE = [
    # numbers
    "1 < 1.5 && 1u < 2 && 2.5 > 2u && 1.0 <= 1",
    "7 / 2 == 3 && -7 / 2 == -3 && -7 % 2 == -1 && 7u % 4u == 3u",
    'int("42") == 42 && int(1.9) == 1 && uint(3) == 3u && double("1e3") == 1000.0',
    'string(1.0) == "1" && string(1e300) == "1e+300" && string(0.00001) == "1e-05"',
    'string(123456789.5) == "1.234567895e+08" && string(-0.25) == "-0.25"',
    'string(100000.0) == "100000" && string(1000000.0) == "1e+06"',
    'bool("True") && !bool("0") && bytes("a") == b"a" && string(b"\\xc3\\xa9") == "\u00e9"',
    "1 == dyn(1.0) && dyn(1) != dyn(true) && dyn(1u) == dyn(1)",
    "-9223372036854775808 < 0 && type(1u) == uint && type(type(1)) == type",
    # texts
    '"\u00e9t\u00e9".size() == 3 && "\u00e9t\u00e9".charAt(1) == "t" && "abc".charAt(3) == ""',
    '"abcabc".indexOf("c") == 2 && "abcabc".indexOf("c", 3) == 5 && "abc".indexOf("x") == -1',
    '"abc".indexOf("", 7) == 3 && "abc".indexOf("a", 7) == -1',
    '"abcabc".lastIndexOf("b") == 4 && "abcabc".lastIndexOf("b", 3) == 1',
    '"abc".substring(1) == "bc" && "abc".substring(0, 2) == "ab"',
    '"aXbX".replace("X", "-") == "a-b-" && "aXbX".replace("X", "-", 1) == "a-bX"',
    '"ab".replace("", "-") == "-a-b-" && "ab".replace("a", "", 0) == "ab"',
    '"a,b,c".split(",") == ["a", "b", "c"] && "a,b,c".split(",", 2) == ["a", "b,c"]',
    '"abc".split("") == ["a", "b", "c"] && "a,b".split(",", 0).size() == 0',
    '["a", "b"].join("-") == "a-b" && ["a"].join() == "a" && " a\\t".trim() == "a"',
    '"\u00c9A".lowerAscii() == "\u00c9a" && "a\u00e9".upperAscii() == "A\u00e9"',
    "strings.quote('a\"b\\n') == '\"a\\\\\"b\\\\n\"'",
    (
        '"%s %d %b %x %X %o %.2f %%".format(["a", 1, 5, 255, "\u00e9", 8, 1.5]) '
        '== "a 1 101 ff C3A9 10 1.50 %"'
    ),
    (
        '"%s".format([[1, 2.5]]) == "[1, 2.500000]" && "%s".format([{"b": 1, "a": null}]) '
        '== \'{"a":null, "b":1}\''
    ),
    '"%s %s".format([duration("90s"), type(1)]) == "90s int"',
    # patterns
    '"a1b22".find("[0-9]+") == "1" && "ab".find("[0-9]+") == ""',
    '"a1b22".findAll("([a-z])([0-9]+)") == ["a1", "b22"]',
    '"a1b22".findAll("[0-9]+", 1) == ["1"] && "ab".findAll("[0-9]").size() == 0',
    '"baac".findAll("a*") == ["", "aa", ""]',
    '"a,b".findAll("[^,]") == ["a", "b"] && "aa b".findAll("\\\\ba") == ["a"]',
    '"ab".findAll("^") == [""] && "abab".findAll("^a") == ["a"]',
    '"H100".matches("^H(?i)1") && !"A100".matches("^H")',
    # lists
    "[1, 2, 3].sum() == 6 && [1.5, 2.5].sum() == 4.0 && [].sum() == 0",
    '[2, 1].min() == 1 && ["a", "b"].max() == "b" && [true, false].min() == false',
    "[1, 2, 2].isSorted() && ![2, 1].isSorted() && [].isSorted()",
    '["a", "b", "a"].indexOf("a") == 0 && ["a", "b", "a"].lastIndexOf("a") == 2',
    "[1, 2].indexOf(3) == -1 && [1, 2, 3].slice(1, 3) == [2, 3]",
    "[[1], [2, 3]].flatten() == [1, 2, 3] && [[[1]], [[2]]].flatten(2) == [1, 2]",
    "lists.range(3) == [0, 1, 2] && [1, 2].reverse() == [2, 1]",
    '[1, 2, 1].distinct() == [1, 2] && ["b", "a"].sort() == ["a", "b"]',
    "sets.contains([1, 2], [1]) && sets.intersects([1], [1, 2]) && sets.equivalent([1, 1], [1])",
    "[1, 2].includes(2) && !dyn(1).includes(2)",
    # macros
    "[1, 2, 3].exists_one(i, v, i == 1 && v == 2) && [1, 2].existsOne(i, v, v == 1)",
    "[1, 2].all(i, v, i + 1 == v) && {1: 2}.exists(k, v, k < v)",
    "[1, 2].transformList(i, v, i * v) == [0, 2]",
    "{1: 2, 3: 4}.transformMap(k, v, k < 2, v + 1) == {1: 3}",
    "[5].transformMapEntry(i, v, {v: i}) == {5: 0}",
    "[1, 2, 3].filter(x, x > 1).map(x, x < 3, x * 2) == [4]",
    "[1, 0].exists(x, 1 / x == 1) && ![0, 1].all(x, 1 / x == 2)",
    "cel.bind(x, 1 / 0, true) && cel.bind(x, [1].map(y, y + 1), x == [2])",
    "cel.bind(y, 1, cel.bind(x, y + 1, [5].all(y, x == 2)))",
    # optionals
    "optional.of(1).hasValue() && optional.none().orValue(2) == 2",
    "!optional.ofNonZeroValue('').hasValue() && optional.of(1).value() == 1",
    "optional.none().or(optional.of(1)).value() == 1",
    "optional.of(1).optMap(x, x + 1).value() == 2",
    "{'a': {'b': 1}}[?'a'].b.orValue(0) == 1",
    "{'a': {'b': 1}}.?x.b.orValue(0) == 0",
    "[?optional.none(), 1] == [1] && {?'a': optional.of(1)} == {'a': 1}",
    "[1, 2][?5].orValue(7) == 7 && [1].first().value() == 1 && [1, 2].last().value() == 2",
    "optional.unwrap([optional.of(1), optional.none()]) == [1]",
    # quantities and versions
    'quantity("1Gi").add(quantity("1Gi")) == quantity("2Gi")',
    'sign(quantity("-1")) == -1 && quantity("1500m").asApproximateFloat() == 1.5',
    'semver("1.0.0-rc.1").isLessThan(semver("1.0.0")) && semver("v1", true).minor() == 0',
    'semver("1.0.0+a") == semver("1.0.0+b") && !isSemver("1.2-rc", true)',
    # addresses
    'ip("10.0.0.1").family() == 4 && ip("::1").isLoopback() && !isIP("::ffff:1.2.3.4")',
    'ip("224.0.0.1").isLinkLocalMulticast() && ip("fe80::1").isLinkLocalUnicast()',
    '!ip("255.255.255.255").isGlobalUnicast() && ip("10.0.0.1").isGlobalUnicast()',
    'ip.isCanonical("::1") && !ip.isCanonical("0:0::1") && string(ip("0:0::1")) == "::1"',
    'cidr("10.1.2.3/8").containsIP("10.9.9.9") && cidr("10.0.0.0/8").containsCIDR("10.1.0.0/16")',
    'cidr("10.1.2.3/8").masked() == cidr("10.0.0.0/8")',
    'cidr("10.1.2.3/8").ip() == ip("10.1.2.3")',
    'cidr("fe80::/10").prefixLength() == 10 && !isCIDR("10.0.0.0/33") && !isCIDR("10.0.0.0")',
    'url("https://u@[::1]:443/a%20b?x=1&x=2").getHostname() == "::1"',
    'url("https://a:443/a%20b?x=1&x=2").getQuery() == {"x": ["1", "2"]}',
    'url("https://a:443/a b").getEscapedPath() == "/a%20b" && url("/x").getScheme() == ""',
    'url("https://a:443/").getPort() == "443" && url("https://a:443/").getHost() == "a:443"',
    'isURL("a:b") && !isURL("a/b") && !isURL("")',
    # formats
    '!format.dns1123Label().validate("a-b").hasValue()',
    'format.dns1123Label().validate("A").value().size() == 1',
    'format.named("uuid").hasValue() && !format.named("x").hasValue()',
    '!format.qualifiedName().validate("a.b/C_d").hasValue()',
    'format.qualifiedName().validate("A.b/C_d").hasValue()',
    '!format.uuid().validate("123e4567-e89b-12d3-a456-426614174000").hasValue()',
    'format.date().validate("2021-02-29").hasValue()',
    '!format.date().validate("2020-02-29").hasValue()',
    '!format.datetime().validate("2021-01-01T00:00:00Z").hasValue()',
    '!format.byte().validate("aGVsbG8=").hasValue() && format.byte().validate("x").hasValue()',
    # times
    'duration("1h30m") == duration("5400s") && duration("-1.5s") < duration("0")',
    'string(duration("1h1ms")) == "3600.001s" && duration("90s").getMinutes() == 1',
    'timestamp("2020-02-29T12:30:15.5Z").getDayOfYear() == 59',
    'timestamp("2020-02-29T23:30:00Z").getDate("+01:00") == 1',
    'timestamp("2020-01-01T00:00:00Z").getDayOfWeek() == 3',
    'timestamp("2020-03-01T00:00:00Z") - timestamp("2020-02-28T00:00:00Z") == duration("48h")',
    'string(timestamp("2020-01-01T00:00:00+02:00")) == "2020-01-01T00:00:00+02:00"',
    "timestamp(0).getFullYear() == 1970",
    'timestamp("2020-12-31T23:59:59.999Z").getMilliseconds() == 999',
    'timestamp("0001-01-01T00:00:00Z") < timestamp("9999-12-31T23:59:59Z")',
]


@pytest.mark.parametrize("expression", TRUE)
def test_library_answers_as_kubernetes(expression: str) -> None:
    program = default_engine().compile(expression)

    assert isinstance(program, Program), str(program)
    assert program.evaluate(NONE) is True


ERRORS = [
    ("9223372036854775807 + 1 == 0", "integer overflow"),
    ("0u - 1u == 0u", "unsigned integer overflow"),
    ("-(-9223372036854775807 - 1) == 0", "integer overflow"),
    ("1 % 0 == 1", "modulus by zero"),
    ("[].max() == 1", "max called on empty list"),
    ("[1, 2].slice(1, 3).size() == 1", "cannot slice(1, 3), list is length 2"),
    ('"abc".substring(4) == ""', "index out of range: 4"),
    ("[1][1] == 1", "index out of bounds: 1"),
    ('{"a": 1}["b"] == 1', "no such key: b"),
    ("optional.none().value() == 1", "optional.none() dereference"),
    ('device.attributes["d"].x.size() > 0', "no such key: x"),
    ('dyn("a") < 1', "no such overload"),
    ('device.attributes[dyn(semver("1.0.0"))].size() > 0', "invalid qualifier type"),
    ("dyn(1) && true", "no such overload"),
    ('1 in dyn("a")', "no such overload"),
    ('quantity("1") == dyn(1)', "no such overload"),
    ('quantity("2") == quantity("1").add(1)', "no such overload"),
    ('cidr("10.0.0.0/8").containsIP("x")', "no such overload"),
    ('dyn("10.0.0.1").ip().family() == 4', "no such overload"),
    ('ip(dyn(cidr("10.0.0.0/8"))).family() == 4', "no such overload"),
    ('ip("fe80::1%eth0").isLoopback()', "zone value is not allowed"),
    ("[5, 5].transformMapEntry(i, v, {v: i}) == {}", "already exists"),
    ('{device.driver: 1, "d": 2} == {}', "repeated key"),
    ('"x".findAll("y" + "(").size() == 0', "missing"),
    ('timestamp("2020-01-01T00:00:00Z").getHours("x") == 1', "unknown time zone"),
]


@pytest.mark.parametrize(("expression", "message"), ERRORS)
def test_library_fails_as_kubernetes(expression: str, message: str) -> None:
    program = default_engine().compile(expression)

    assert isinstance(program, Program), str(program)
    answer = program.evaluate(NONE)
    assert isinstance(answer, EvaluationFault)
    assert message in answer.message


REFUSED = [
    '[1, "a"] == []',
    "[1, dyn(2)] == []",
    '{"a": 1, "b": "c"} == {}',
    '"a".matches("(")',
    '"a".find("(") == ""',
    'int("x") == 1',
    'duration("x") == duration("1s")',
    'timestamp("2020") == timestamp(0)',
    '"%q".format([1]) == ""',
    '"%d".format(["a"]) == ""',
    '"%d %d".format([1]) == ""',
    '"%d".format([1, 2]) == ""',
    "1 == 1.0",
    "1 in [1.0]",
    '"a".reverse() == ""',
    "duration(1) == duration(1)",
    'quantity("1").sign() == 1',
    'type(quantity("1")) == kubernetes.Quantity',
    "dyn(1)[null] == 1",
]


@pytest.mark.parametrize("expression", REFUSED)
def test_what_kubernetes_refuses_does_not_compile(expression: str) -> None:
    assert not isinstance(default_engine().compile(expression), Program)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_double_is_spelled_so_that_it_reads_the_same(value: float) -> None:
    assert to_double(to_string(value)) == value


@pytest.mark.parametrize(
    ("pattern", "plain"),
    [
        ("a(b)c", "a(?:b)c"),
        ("(?:a)(?i)b", "(?:a)(?i)b"),
        ("(?P<n>a)(?<m>b)", "(?:a)(?:b)"),
        (r"\(a\)[(](b)", r"\(a\)[(](?:b)"),
        (r"[]()](a)\Q(x)\E", r"[]()](?:a)\Q(x)\E"),
        ("[[:alpha:](](a)", "[[:alpha:](](?:a)"),
    ],
)
def test_groups_become_plain(pattern: str, plain: str) -> None:
    assert without_groups(pattern) == plain
