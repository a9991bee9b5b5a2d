"""What is known of an expression from its tokens."""

import pytest

from dra_console.allocator.cel.text import (
    clauses,
    typographic_quote,
    with_engine_macros,
    with_fewer_parentheses,
)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("a", ["a"]),
        ("a && b && c", ["a", "b", "c"]),
        ("(a && b) && c", ["(a && b)", "c"]),
        ("(a && b)", ["a", "b"]),
        ("((a) && (b))", ["(a)", "(b)"]),
        ("a && b || c", ["a && b || c"]),
        ("a && b ? c : d", ["a && b ? c : d"]),
        ("f(a && b) && c", ["f(a && b)", "c"]),
        ("x['a && b'] && c", ["x['a && b']", "c"]),
        ("x.?y.orValue(1) == 1 && c", ["x.?y.orValue(1) == 1", "c"]),
        ("x[?'y'].hasValue() && c", ["x[?'y'].hasValue()", "c"]),
        ("a && // b && c\nd", ["a", "// b && c\nd"]),
        ("a\n&&\nb", ["a", "b"]),
        ('a && """x && y""" == b', ["a", '"""x && y""" == b']),
        ("a && r'\\' == b", ["a", "r'\\' == b"]),
        ("a == r'\\' && b == '&&'", ["a == r'\\'", "b == '&&'"]),
        ("a == rb'\\' && b", ["a == rb'\\'", "b"]),
        ('a == """x" && y""" && b', ['a == """x" && y"""', "b"]),
        ("d.`x && y` && b", ["d.`x && y`", "b"]),
        ("a && (b ? c && d : e)", ["a", "(b ? c && d : e)"]),
        ("[1].all(x, x && y) && b", ["[1].all(x, x && y)", "b"]),
        ("{'a': b && c} == d && e", ["{'a': b && c} == d", "e"]),
        ("a && b // && c", ["a", "b"]),
    ],
)
def test_clauses_are_split_where_they_join_the_whole(expression: str, expected: list[str]) -> None:
    assert list(clauses(expression)) == expected


def test_typographic_quote_is_found_with_its_place() -> None:
    assert typographic_quote("true &&\n  device.driver == \u201cx\u201d") == ("\u201c", (2, 20))


def test_typographic_quote_inside_a_text_is_a_value() -> None:
    assert typographic_quote("device.driver == 'a \u201cx\u201d'") is None


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("[1].exists_one(i, v, true)", "[1].existsOne (i, v, true)"),
        ("[1].exists_one(v, f(v, 1, 2))", "[1].exists_one(v, f(v, 1, 2))"),
        ("[1].exists_one(i, v, '(,')", "[1].existsOne (i, v, '(,')"),
        ("'.exists_one(i, v, true)'", "'.exists_one(i, v, true)'"),
    ],
)
def test_macro_is_renamed_for_the_engine_without_moving_anything(
    expression: str, expected: str
) -> None:
    assert with_engine_macros(expression) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("((a))", "( a )"),
        ("(((a)))", "(  a  )"),
        ("f((a))", "f( a )"),
        ("((a) + b)", "((a) + b)"),
        ("((a), (b))", "((a), (b))"),
        ("'((a))'", "'((a))'"),
    ],
)
def test_parentheses_within_parentheses_are_blanked(expression: str, expected: str) -> None:
    assert with_fewer_parentheses(expression) == expected
