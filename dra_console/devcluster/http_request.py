"""One HTTP request, read to its end, and the readings that handlers share."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import orjson
import yaml

from dra_console.allocator.model import Json, JsonObject
from dra_console.devcluster.errors import BadRequestError, Cause, InvalidError
from dra_console.devcluster.errors import UnsupportedMediaTypeError as UnsupportedError
from dra_console.devcluster.protobuf import PROTOBUF_TYPE, decode_protobuf

BODY_LIMIT_BYTES: Final = 3 * 1024 * 1024
"""As etcd and the real API server limit a request."""

TRUE_WORDS: Final = frozenset({"true", "1", "t", "T", "TRUE", "True", ""})
FALSE_WORDS: Final = frozenset({"false", "0", "f", "F", "FALSE", "False"})


@dataclass(frozen=True, slots=True)
class Request:
    """A request; header names are in lower case and may repeat."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def header(self, name: str) -> str:
        """Return the first header of that name, or an empty string."""
        return next((value for known, value in self.headers if known == name), "")

    def flag(self, name: str) -> bool:
        """Read a boolean query parameter; absent means no.

        Raises:
            BadRequestError: it is neither true nor false.

        """
        value = self.query.get(name)
        if value is None or value in FALSE_WORDS:
            return False
        if value in TRUE_WORDS:
            return True
        raise BadRequestError(f"{name}: expected true or false, got {value!r}")

    def number(self, name: str) -> int | None:
        """Read a query parameter that counts something; absent or empty is `None`.

        Raises:
            BadRequestError: it is not a whole number from 0 on.

        """
        value = self.query.get(name, "")
        if not value:
            return None
        if not value.isdecimal():
            raise BadRequestError(f"{name}: expected a whole number, got {value!r}")
        return int(value)

    @property
    def is_dry_run(self) -> bool:
        """Whether `dryRun=All` is given.

        Raises:
            InvalidError: `dryRun` has another value.

        """
        return dry_run(self.query.get("dryRun", ""))


class _Loader(yaml.SafeLoader):
    """YAML as Kubernetes reads it: a timestamp stays text."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def dry_run(value: str) -> bool:
    """Read a `dryRun` option; empty means no.

    Raises:
        InvalidError: it is neither empty nor `All`.

    """
    if value in {"", "All"}:
        return value == "All"
    message = f'Unsupported value: "{value}": supported values: "All"'
    raise InvalidError(
        f"dryRun: {message}", causes=(Cause("dryRun", "FieldValueNotSupported", message),)
    )


def media_type(request: Request) -> str:
    """Return the content type without its parameters, JSON where none is given."""
    return request.header("content-type").split(";")[0].strip().lower() or "application/json"


def decode(body: bytes, content_type: str) -> Json:
    """Read a body that is JSON or YAML by its content type.

    Raises:
        BadRequestError: it is not well-formed.
        UnsupportedMediaTypeError: another content type.

    """
    try:
        if content_type.endswith("json"):
            decoded: Json = orjson.loads(body)
            return decoded
        if content_type.endswith("yaml"):
            loaded: Json = yaml.load(body, _Loader)  # noqa: S506 - _Loader is a SafeLoader
            return loaded
    except (orjson.JSONDecodeError, yaml.YAMLError) as error:
        raise BadRequestError(f"the object provided is unrecognized: {error}") from error
    raise UnsupportedError(
        f"the body of the request was in an unknown format - got {content_type!r}, accepted media"
        " types include: application/json, application/yaml"
    )


def decode_object(request: Request) -> JsonObject:
    """Read the body as one object.

    Raises:
        BadRequestError: not well-formed, or not an object.
        UnsupportedMediaTypeError: neither JSON nor YAML, nor a kind that is read as protobuf.

    """
    content_type = media_type(request)
    if content_type == PROTOBUF_TYPE:
        return decode_protobuf(request.body)
    decoded = decode(request.body, content_type)
    if not isinstance(decoded, dict):
        raise BadRequestError(f"body: expected an object, got {type(decoded).__name__}")
    return decoded
