"""Between the shape that a server speaks and v1, which the rest of the console speaks.

`served` is the kind in the version of the exchange, as `ServedVersions.of` returns it.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from dra_console.allocator.decoding.older import as_version
from dra_console.allocator.decoding.versions import (
    FLAT_REQUEST_FIELDS,
    FLAT_VERSIONS,
    GROUP,
    as_v1,
)
from dra_console.allocator.errors import DecodeError
from dra_console.allocator.model import JsonObject
from dra_console.kube.errors import Cause, InvalidError
from dra_console.kube.kinds import Kind

V1: Final = f"{GROUP}/v1"
UNPROCESSABLE: Final = 422
RESHAPED_KINDS: Final = frozenset({"ResourceClaim", "ResourceClaimTemplate", "ResourceSlice"})
"""Those whose `spec` looks otherwise before v1beta2."""

_FLAT_FIELD: Final = re.compile(
    rf"\bspec\.devices\.requests\[\d+\](?=\.({'|'.join(FLAT_REQUEST_FIELDS)})\b)"
)
_BASIC_FIELD: Final = re.compile(r"(\bspec\.devices\[\d+\])\.basic\b")


def is_reshaped(served: Kind) -> bool:
    """Tell whether objects of this kind and version have another shape than in v1."""
    return served.api_version in FLAT_VERSIONS and served.kind in RESHAPED_KINDS


def is_lifted(served: Kind) -> bool:
    """Tell whether objects of this kind and version are anything else than v1's."""
    return served.group == GROUP and served.api_version != V1


def read_as_v1(obj: JsonObject, *, served: Kind) -> JsonObject:
    """Lift an object that came from the server.

    One that breaks its own version's shape stays as it came: it is shown and named with what
    is wrong, and does not stop the objects beside it.
    """
    if not is_lifted(served):
        return obj
    try:
        return as_v1({"kind": served.kind, **obj}) | {"apiVersion": V1}
    except DecodeError:
        return obj


def written_as(obj: JsonObject, *, served: Kind) -> JsonObject:
    """Spell an object for the server.

    Raises:
        InvalidError: it says what the served version cannot.

    """
    if served.group != GROUP or obj.get("apiVersion", V1) == served.api_version:
        return obj
    try:
        return as_version({"kind": served.kind, **obj}, api_version=served.api_version)
    except DecodeError as error:
        raise InvalidError(
            str(error),
            status=UNPROCESSABLE,
            reason="Invalid",
            causes=(Cause(error.path, "FieldValueNotSupported", error.message),),
        ) from error


@contextmanager
def refusals_in_v1(served: Kind) -> Iterator[None]:
    """Let refusals in the block name fields where v1 has them.

    New servers do so by themselves in every version, old ones name the older shape's field.
    """
    try:
        yield
    except InvalidError as error:
        if not is_reshaped(served):
            raise
        raise InvalidError(
            _path_in_v1(error.message),
            status=error.status,
            reason=error.reason,
            causes=tuple(
                Cause(_path_in_v1(cause.field), cause.reason, cause.message)
                for cause in error.causes
            ),
            retry_after_seconds=error.retry_after_seconds,
            names_object=error.names_object,
        ) from error


def _path_in_v1(text: str) -> str:
    return _BASIC_FIELD.sub(r"\1", _FLAT_FIELD.sub(r"\g<0>.exactly", text))
