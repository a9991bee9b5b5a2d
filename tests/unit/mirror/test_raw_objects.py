"""Objects of rows are parsed as their field would, whatever is in them."""

import json

from hypothesis import example, given
from hypothesis import strategies as st

from dra_console.mirror.raw_objects import parsed_raw

TEXTS = st.text(st.characters())
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3)
)


@example(value={"half": "\ud800"}, is_ascii=True)
@example(value={"long": 2**64, "longest": -(10**30)}, is_ascii=True)
@example(value={"endless": float("inf"), "0": 1e22}, is_ascii=True)
@given(value=st.dictionaries(TEXTS, VALUES, max_size=4), is_ascii=st.booleans())
def test_an_object_is_parsed_as_json_says(value: dict[str, object], *, is_ascii: bool) -> None:
    text = json.dumps(value, ensure_ascii=is_ascii)

    assert repr(parsed_raw(text)) == repr(json.loads(text))
