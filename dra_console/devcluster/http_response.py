"""What handlers give back, and the choice of form that the client's `Accept` makes."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from enum import StrEnum

import orjson

from dra_console.allocator.model import Json
from dra_console.devcluster.errors import NotAcceptableError

JSON_TYPE = "application/json"


@dataclass(frozen=True, slots=True)
class Response:
    """A whole answer."""

    body: bytes
    status: int = 200
    content_type: str = JSON_TYPE


@dataclass(frozen=True, slots=True)
class Stream:
    """An answer that is sent piece by piece, for as long as the iterator goes on."""

    chunks: AsyncIterator[bytes]
    content_type: str = field(default=JSON_TYPE)


class Form(StrEnum):
    """How objects are written."""

    OBJECT = "object"
    TABLE = "table"
    AGGREGATED_DISCOVERY = "aggregated discovery"


def json_response(value: Json, *, status: int = 200) -> Response:
    """Write a value as JSON."""
    return Response(orjson.dumps(value), status)


def text_response(text: str) -> Response:
    """Write plain text."""
    return Response(text.encode(), content_type="text/plain; charset=utf-8")


def accepted_form(accept: str, *, offered: frozenset[Form]) -> Form:
    """Choose the first media range of `Accept` that can be written.

    Raises:
        NotAcceptableError: there is none.

    """
    for media_range in accept.split(",") if accept.strip() else ("*/*",):
        base, *parameters = (part.strip() for part in media_range.split(";"))
        if base not in {JSON_TYPE, "application/*", "*/*"}:
            continue
        known = dict(parameter.split("=", 1) for parameter in parameters if "=" in parameter)
        wanted = {
            None: Form.OBJECT,
            "Table": Form.TABLE,
            "APIGroupDiscoveryList": Form.AGGREGATED_DISCOVERY,
        }.get(known.get("as"))
        if wanted is Form.AGGREGATED_DISCOVERY and known.get("v") != "v2":
            continue
        if wanted in offered:
            return wanted
    raise NotAcceptableError(
        f"only the following media types are accepted: {JSON_TYPE}; got Accept: {accept}"
    )
