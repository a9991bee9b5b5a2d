"""What an API server sends and a strict reader refuses; seen from Kubernetes 1.37 but 1e400."""

import json

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dra_console.allocator.model import Json
from dra_console.kube.errors import ApiError
from dra_console.kube.lenient import DEEPEST_LEVEL, LEFT_OUT, loads_leniently
from dra_console.kube.transport import decode_object

scalars = st.none() | st.booleans() | st.text() | st.floats(allow_nan=False, allow_infinity=False)
integers = st.integers(-(2**63), 2**64 - 1)
documents = st.recursive(
    scalars | integers,
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(documents)
def test_what_a_strict_reader_reads_is_read_alike(document: Json) -> None:
    raw = json.dumps(document).encode()

    assert loads_leniently(raw) == orjson.loads(raw)


@pytest.mark.parametrize(
    ("parameters", "read"),
    [
        (rb'{"a":"\ud800"}', {"a": "\ufffd"}),
        (rb'{"a":"x\ud800\ud83d\ude00\udc00y"}', {"a": "x\ufffd😀\ufffdy"}),
        (rb'{"a":"\\ud800"}', {"a": r"\ud800"}),
        (rb'{"\uDC00":1}', {"\ufffd": 1}),
        (b'{"a":"\xff\xfe"}', {"a": "\ufffd\ufffd"}),
        (rb'{"a":"\ud800","b":18446744073709551616}', {"a": "\ufffd", "b": 2.0**64}),
        (rb'{"a":"\ud800","b":-9223372036854775808}', {"a": "\ufffd", "b": -(2**63)}),
        (b'{"a":1e400}', {"a": "1e400"}),
        (b'{"a":' + b"9" * 5000 + b"}", {"a": "9" * 5000}),
    ],
)
def test_what_no_strict_reader_takes_does_not_hide_the_objects_beside_it(
    parameters: bytes, read: Json
) -> None:
    listed = decode_object(b'{"items":[{"odd":' + parameters + b'},{"plain":1}]}')

    assert listed == {"items": [{"odd": read}, {"plain": 1}]}


def test_what_is_nested_too_deep_is_left_out_and_said_to_be() -> None:
    deep = b"[" * 4900 + b'"]"' + b"]" * 4900

    value = decode_object(b'{"before":1,"deep":' + deep + b',"after":{"[":"]"}}')

    assert (value.pop("before"), value.pop("after")) == (1, {"[": "]"})
    inner = value.pop("deep")
    levels = 1
    while isinstance(inner, list):
        [inner] = inner
        levels += 1
    assert (levels, inner) == (DEEPEST_LEVEL, LEFT_OUT)


@pytest.mark.parametrize("raw", [b"", b"{", b'{"a":NaN}', b'{"a":"\x01"}', b"[" * 5000, b"1 2"])
def test_what_is_no_json_is_refused(raw: bytes) -> None:
    with pytest.raises(ApiError, match="expected JSON"):
        decode_object(raw)
