"""What is known of an expression from its tokens."""

import pytest

from dra_console.allocator.cel.text import (
    Read,
    Reads,
    clauses,
    reads,
    texts,
    typographic_quote,
    unknown_device_field,
    with_real_domains,
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
    ],
)
def test_clauses_are_split_where_they_join_the_whole(expression: str, expected: list[str]) -> None:
    assert list(clauses(expression)) == expected


MODEL = Read("attributes", "d", "model")


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ('device.driver == "d"', Reads()),
        ('device.attributes["d"].model == "x"', Reads(frozenset({MODEL}))),
        ("device.attributes['d'].model == 'x'", Reads(frozenset({MODEL}))),
        ('device.attributes["d"].?model.orValue("")', Reads(frozenset({MODEL}))),
        ('device.attributes["d"]["model"]', Reads(frozenset({MODEL}))),
        ('device.attributes[?"d"].?model.hasValue()', Reads(frozenset({MODEL}))),
        ("device.attributes.d.model", Reads(frozenset({MODEL}))),
        ('"model" in device.attributes["d"]', Reads(frozenset({Read("attributes", "d", None)}))),
        ('device.capacity["d"].mem.sign() > 0', Reads(frozenset({Read("capacity", "d", "mem")}))),
        ('"d" in device.attributes', Reads(is_whole_device=True)),
        ("device.attributes[device.driver].model", Reads(is_whole_device=True)),
        ("cel.bind(x, device, x.driver)", Reads(is_whole_device=True)),
        ("device.attributes.exists(d, true)", Reads(is_whole_device=True)),
        ("'device.attributes' == 'x'", Reads()),
    ],
)
def test_reads_are_what_the_expression_can_depend_on(expression: str, expected: Reads) -> None:
    assert reads(expression) == expected


def test_typographic_quote_is_found_with_its_place() -> None:
    assert typographic_quote("true &&\n  device.driver == \u201cx\u201d") == ("\u201c", (2, 20))


def test_typographic_quote_inside_a_text_is_a_value() -> None:
    assert typographic_quote("device.driver == 'a \u201cx\u201d'") is None


def test_unknown_field_of_the_device_is_found_with_its_place() -> None:
    assert unknown_device_field('device.driver == "d" && device.name == "x"') == ("name", (1, 31))


def test_texts_are_the_domains_that_may_be_meant() -> None:
    assert texts("device.attributes['a'].x == \"b\"") == {"a", "b"}


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ('"d" in device.attributes', '"d" in device.published_attributes'),
        ('"x" in device.attributes["d"]', '"x" in device.attributes["d"]'),
        ("device.capacity.all(d, true)", "device.published_capacity.all(d, true)"),
        ('device.attributes["d"].x', 'device.attributes["d"].x'),
    ],
)
def test_membership_and_iteration_see_the_domains_that_there_are(
    expression: str, expected: str
) -> None:
    assert with_real_domains(expression) == expected
