"""Every function and operator on a value of every type: what compiles, costs and answers what."""

from typing import Final

from dra_console.allocator.api_json import JsonObject
from tests.oracle.expressions.cases import Case

VALUES: Final = (
    "1", "1u", "1.5", '"a"', 'b"a"', "true", "null", "[1]", '["a"]', '{"a":1}', 'duration("1s")',
    'timestamp("2020-01-01T00:00:00Z")', 'quantity("1")', 'semver("1.0.0")', "optional.of(1)",
    'ip("::1")', 'cidr("::/1")', 'url("/a")', "type(1)", "device", "device.attributes",
    'device.attributes["gpu.example.com"].count', "format.uri()", "[]", "{}",
)  # fmt: skip
FUNCTIONS: Final = (
    "int", "uint", "double", "string", "bool", "bytes", "duration", "timestamp", "type", "dyn",
    "size", "sign", "url", "ip", "cidr", "quantity", "semver", "isURL", "isIP", "isCIDR",
)  # fmt: skip
METHODS: Final = (
    "size()", "trim()", "sum()", "min()", "max()", "isSorted()", "sort()", "reverse()",
    "distinct()", "first()", "last()", "hasValue()", "value()", "join()", "lowerAscii()",
    "getHours()", "getFullYear()", "getMonth()", "getDate()", "getDayOfMonth()", "getMinutes()",
    "getDayOfYear()", "getMilliseconds()", "getSeconds()", "getDayOfWeek()", "flatten()",
    "sign()", "major()", "isInteger()", "family()", "masked()", "ip()", "unwrapOpt()",
    "charAt(0)", 'startsWith("a")', 'matches("a")', 'contains("a")', 'indexOf("a")',
    'includes("a")', 'split("a")', 'find("a")', "exists(x, true)", "all(k, v, true)",
    "map(x, x)", "filter(x, true)", "exists_one(x, true)", "existsOne(x, true)",
    "exists_one(i, x, true)", "transformList(k, v, v)", "transformMap(k, v, v)",
    "transformMapEntry(k, v, {k: v})", "orValue(1)", "or(optional.none())", "optMap(x, x)",
    "optFlatMap(x, optional.of(x))", "slice(0, 1)", 'getHours("UTC")', "asInteger()",
    'compareTo(semver("1.0.0"))', 'validate("a")', 'replace("a", "b")', "format([1])",
    "foo", "?foo", "getHost()", "getQuery()", "prefixLength()", "asApproximateFloat()",
)  # fmt: skip
OPERATORS: Final = ("+", "-", "*", "/", "%", "<", "<=", ">", ">=", "==", "!=", "in", "&&", "||")
DEVICE: Final[JsonObject] = {
    "name": "crossed",
    "attributes": {"count": {"int": 1}},
    "capacity": {"memory": {"value": "1Mi"}},
}


def crossed() -> list[Case]:
    """List all, in the dialect that knows everything."""
    pairs = [(left, right) for left in VALUES for right in VALUES]
    expressions = [
        *VALUES,
        *(_result(f"{function}({value})") for function in FUNCTIONS for value in VALUES),
        *(_result(f"{value}.{method}") for method in METHODS for value in VALUES),
        *(_result(f"{left} {each} {right}") for each in OPERATORS for left, right in pairs),
        *(_result(f"{left}[{right}]") for left, right in pairs),
        *(_result(f"{left}[?{right}]") for left, right in pairs),
        *(_result(f"true ? {left} : {right}") for left, right in pairs),
        *(_result(f"[{left}, {right}]") for left, right in pairs),
        *(_result(f"{sign}{value}") for sign in "!-" for value in VALUES),
    ]
    return [
        Case(f"crossed-{number}", expression, False, frozenset(), (DEVICE,))
        for number, expression in enumerate(expressions)
    ]


def _result(expression: str) -> str:
    """Make a selector of an expression of any type."""
    return f"dyn({expression}) == dyn(1)"
