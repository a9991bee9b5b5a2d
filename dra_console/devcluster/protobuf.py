r"""Request bodies in Kubernetes' protobuf, for the small kinds that kubectl writes so.

kubectl sends what it builds itself (`create namespace`, `auth can-i`, `create token`, `drain`)
as protobuf and what it reads from files as JSON. The wire format is an envelope,
`k8s\0` + `runtime.Unknown`, around a message whose field numbers the tables below repeat from
Kubernetes' `generated.proto` files. Other kinds are refused with 415.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from dra_console.allocator.model import JsonObject
from dra_console.devcluster.errors import BadRequestError, UnsupportedMediaTypeError
from dra_console.devcluster.protobuf_wire import (
    Many,
    Map,
    Message,
    Scalar,
    Type,
    WireError,
    read_fields,
    read_message,
)

PROTOBUF_TYPE: Final = "application/vnd.kubernetes.protobuf"
MAGIC: Final = b"k8s\x00"

TEXT, NUMBER, FLAG, QUANTITY = Scalar.TEXT, Scalar.NUMBER, Scalar.FLAG, Scalar.QUANTITY

OWNER_REFERENCE: Final = Message(
    {
        1: ("kind", TEXT),
        3: ("name", TEXT),
        4: ("uid", TEXT),
        5: ("apiVersion", TEXT),
        6: ("controller", FLAG),
        7: ("blockOwnerDeletion", FLAG),
    }
)
METADATA: Final = Message(
    {
        1: ("name", TEXT),
        2: ("generateName", TEXT),
        3: ("namespace", TEXT),
        5: ("uid", TEXT),
        6: ("resourceVersion", TEXT),
        11: ("labels", Map(TEXT)),
        12: ("annotations", Map(TEXT)),
        13: ("ownerReferences", Many(OWNER_REFERENCE)),
        14: ("finalizers", Many(TEXT)),
    }
)
OBJECT_REFERENCE: Final = Message(
    {1: ("kind", TEXT), 2: ("namespace", TEXT), 3: ("name", TEXT), 4: ("uid", TEXT)}
)
LOCAL_REFERENCE: Final = Message({1: ("name", TEXT)})
DELETE_OPTIONS: Final = Message(
    {
        1: ("gracePeriodSeconds", NUMBER),
        2: ("preconditions", Message({1: ("uid", TEXT), 2: ("resourceVersion", TEXT)})),
        3: ("orphanDependents", FLAG),
        4: ("propagationPolicy", TEXT),
        5: ("dryRun", Many(TEXT)),
    }
)
RESOURCE_ATTRIBUTES: Final = Message(
    {
        1: ("namespace", TEXT),
        2: ("verb", TEXT),
        3: ("group", TEXT),
        4: ("version", TEXT),
        5: ("resource", TEXT),
        6: ("subresource", TEXT),
        7: ("name", TEXT),
    }
)
ACCESS_FIELDS: Final[Mapping[int, tuple[str, Type]]] = MappingProxyType(
    {
        1: ("resourceAttributes", RESOURCE_ATTRIBUTES),
        2: ("nonResourceAttributes", Message({1: ("path", TEXT), 2: ("verb", TEXT)})),
    }
)
BOUND_OBJECT: Final = Message(
    {1: ("kind", TEXT), 2: ("apiVersion", TEXT), 3: ("name", TEXT), 4: ("uid", TEXT)}
)


def _object(**parts: tuple[int, Type]) -> Message:
    fields = {number: (name, kind) for name, (number, kind) in parts.items()}
    return Message({1: ("metadata", METADATA), **fields})


MESSAGES: Final[Mapping[str, Message]] = MappingProxyType(
    {
        "Namespace": _object(),
        "ServiceAccount": _object(
            secrets=(2, Many(OBJECT_REFERENCE)), imagePullSecrets=(3, Many(LOCAL_REFERENCE))
        ),
        "ResourceQuota": _object(
            spec=(2, Message({1: ("hard", Map(QUANTITY)), 2: ("scopes", Many(TEXT))}))
        ),
        "Binding": _object(target=(2, OBJECT_REFERENCE)),
        "Eviction": _object(deleteOptions=(2, DELETE_OPTIONS)),
        "DeleteOptions": DELETE_OPTIONS,
        "TokenRequest": _object(
            spec=(
                2,
                Message(
                    {
                        1: ("audiences", Many(TEXT)),
                        3: ("boundObjectRef", BOUND_OBJECT),
                        4: ("expirationSeconds", NUMBER),
                    }
                ),
            )
        ),
        "TokenReview": _object(
            spec=(2, Message({1: ("token", TEXT), 2: ("audiences", Many(TEXT))}))
        ),
        "SelfSubjectReview": _object(),
        "SelfSubjectAccessReview": _object(spec=(2, Message(ACCESS_FIELDS))),
        "SubjectAccessReview": _object(
            spec=(2, Message({**ACCESS_FIELDS, 3: ("user", TEXT), 4: ("groups", Many(TEXT))}))
        ),
        "SelfSubjectRulesReview": _object(spec=(2, Message({1: ("namespace", TEXT)}))),
    }
)
"""The messages that can be read, by kind."""

ENVELOPE: Final = Message({1: ("typeMeta", Message({1: ("apiVersion", TEXT), 2: ("kind", TEXT)}))})
ENVELOPE_RAW: Final = 2


def decode_protobuf(body: bytes) -> JsonObject:
    """Read an enveloped object.

    Raises:
        BadRequestError: the body is not well-formed.
        UnsupportedMediaTypeError: an object of a kind that is read as JSON and YAML only.

    """
    if not body.startswith(MAGIC):
        raise BadRequestError("the object provided is unrecognized: no protobuf envelope")
    try:
        envelope = body.removeprefix(MAGIC)
        obj = read_message(envelope, ENVELOPE).get("typeMeta", {})
        kind = str(obj.get("kind")) if isinstance(obj, dict) else ""
        message = MESSAGES.get(kind)
        raw = dict(read_fields(envelope)).get(ENVELOPE_RAW)
        read = read_message(raw, message) if message and isinstance(raw, bytes) else {}
    except WireError as error:
        raise BadRequestError(f"the object provided is unrecognized: {error}") from error
    if message is None or not isinstance(obj, dict):
        raise UnsupportedMediaTypeError(
            f"{kind or 'this'} is read as JSON or YAML only, not as {PROTOBUF_TYPE}"
        )
    return {**obj, **read}
