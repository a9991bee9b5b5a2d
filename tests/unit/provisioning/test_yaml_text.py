import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dra_console.allocator.model import Json, JsonObject
from dra_console.provisioning.errors import ManifestError
from dra_console.provisioning.yaml_text import BYTES_LIMIT, dump_yaml, parse_yaml


def test_json_is_yaml_too() -> None:
    assert parse_yaml('{"a": [1, null, "x"]}') == {"a": [1, None, "x"]}


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("2", 2),
        ("-2.5", -2.5),
        ("yes", True),
        ("off", False),
        ("~", None),
        ("", None),
        ("2026-01-01", "2026-01-01"),
        ("12:30:45", "12:30:45"),
        ("010", "010"),
        ("0x10", "0x10"),
        ("1_000", "1_000"),
        ('"2"', "2"),
        ("80Gi", "80Gi"),
    ],
)
def test_plain_values_mean_what_json_could_say(written: str, value: Json) -> None:
    assert parse_yaml(f"a: {written}") == {"a": value}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: [", "line 2: while parsing a flow node expected the node content"),
        ("a: 1\nb: 2\na: 3", "line 3: key 'a' is given twice"),
        ("a: &x {b: 1}\nc: *x", "line 2: aliases (*name) are not accepted here"),
        ("a: 1\n---\nb: 2", "line 2: expected a single document"),
        ("- a", "line 1: expected an object with apiVersion"),
        ("", "line 1: expected an object with apiVersion"),
        ("\n? [a]\n: b", "line 2: expected a name as key"),
        ("a: !!python/object/apply:os.system [id]", "line 1: expected JSON's kinds of values"),
        ("a: !!timestamp 2026-01-01", "line 1: expected JSON's kinds of values"),
        ("a: " + "[" * 40 + "]" * 40, "line 1: expected at most 32 levels"),
        ("a: \x07", "expected YAML: unacceptable character"),
    ],
)
def test_treacherous_yaml_is_refused_with_its_line(text: str, message: str) -> None:
    with pytest.raises(ManifestError) as refused:
        parse_yaml(text)

    assert str(refused.value).startswith(message)


def test_long_text_is_refused_unread() -> None:
    with pytest.raises(ManifestError, match="expected at most 65536 bytes of YAML, got 65537"):
        parse_yaml(" " * (BYTES_LIMIT + 1))


def test_expression_of_several_lines_is_written_as_a_block() -> None:
    text = dump_yaml({"expression": "a &&\nb", "count": 2})

    assert text == "expression: |-\n  a &&\n  b\ncount: 2\n"


json_values: st.SearchStrategy[Json] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**29), 10**29)
    | st.floats(allow_nan=False, allow_infinity=False).filter(lambda x: 1e-9 < math.fabs(x) < 1e17)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text(), json_values, max_size=4))
def test_object_that_was_written_reads_the_same(obj: JsonObject) -> None:
    assert parse_yaml(dump_yaml(obj)) == obj


@given(st.text())
def test_any_text_is_a_manifest_or_a_manifest_error(text: str) -> None:
    try:
        manifest = parse_yaml(text)
    except ManifestError:
        return
    assert isinstance(manifest, dict)
