import pytest

from dra_console.devcluster.errors import BadRequestError, UnsupportedMediaTypeError
from dra_console.devcluster.protobuf import MAGIC, decode_protobuf


def field(number: int, value: bytes | int) -> bytes:
    """Spell a field; numbers and lengths stay below 128 here."""
    if isinstance(value, int):
        return bytes((number << 3, value))
    return bytes((number << 3 | 2, len(value))) + value


def enveloped(kind: str, raw: bytes) -> bytes:
    type_meta = field(1, b"v1") + field(2, kind.encode())
    return MAGIC + field(1, type_meta) + field(2, raw) + field(3, b"") + field(4, b"")


def test_service_account_with_labels_is_read() -> None:
    label = field(1, b"app") + field(2, b"web")
    metadata = field(1, b"agent") + field(2, b"") + field(3, b"lab") + field(11, label)

    assert decode_protobuf(enveloped("ServiceAccount", field(1, metadata))) == {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": "agent", "namespace": "lab", "labels": {"app": "web"}},
    }


def test_quantities_of_a_quota_become_texts() -> None:
    hard = field(1, field(1, b"pods") + field(2, field(1, b"3")))

    read = decode_protobuf(enveloped("ResourceQuota", field(2, hard)))

    assert read["spec"] == {"hard": {"pods": "3"}}


def test_delete_options_keep_a_grace_period_of_zero() -> None:
    raw = field(1, 0) + field(2, field(1, b"uid-1")) + field(5, b"All")

    assert decode_protobuf(enveloped("DeleteOptions", raw)) == {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "gracePeriodSeconds": 0,
        "preconditions": {"uid": "uid-1"},
        "dryRun": ["All"],
    }


def test_kind_without_a_table_is_unsupported() -> None:
    with pytest.raises(UnsupportedMediaTypeError, match="Pod is read as JSON or YAML only"):
        decode_protobuf(enveloped("Pod", b""))


@pytest.mark.parametrize(
    "body",
    [
        b"{}",
        enveloped("Namespace", b"\x0a\x05ab"),
        enveloped("Namespace", b"\x0a"),
        enveloped("Namespace", b"\x0b"),
        enveloped("Namespace", field(1, field(1, b"\xff"))),
        enveloped("Namespace", field(1, 7)),
    ],
)
def test_bytes_that_are_no_message_are_refused(body: bytes) -> None:
    with pytest.raises(BadRequestError, match="unrecognized"):
        decode_protobuf(body)
