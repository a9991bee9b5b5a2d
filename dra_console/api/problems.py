"""Every refusal as `application/problem+json` (RFC 9457).

Clients branch on `type`, people read `detail`. `errors` lists what was wrong with the
request: `pointer` is a JSON pointer into the body (RFC 6901), `parameter` names a query
parameter; each entry has one of them and a `detail`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from types import MappingProxyType

from django.core.exceptions import PermissionDenied
from django.http import Http404
from redis.exceptions import RedisError
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import set_rollback

from dra_console.access.errors import RightsUnknownError
from dra_console.allocator.model import Json, JsonObject
from dra_console.kube.errors import ApiError

CONTENT_TYPE = "application/problem+json"
TYPE_PREFIX = "urn:dra-console:problem:"
RETRY_SECONDS = 5
"""How long to wait before asking again when the API server did not answer."""


class Problem(Exception):  # noqa: N818 - RFC 9457's own word
    """A refusal with its own type; `kind` is the last part of the type's URN."""

    def __init__(
        self,
        status: HTTPStatus,
        kind: str,
        detail: str,
        *,
        errors: Sequence[JsonObject] = (),
        members: Mapping[str, Json] = MappingProxyType({}),
    ) -> None:
        """Take what the answer says; `members` are further members of the problem object."""
        super().__init__(detail)
        self.status = status
        self.kind = kind
        self.detail = detail
        self.errors = errors
        self.members = members


def parameter_problem(detail: str, *, parameter: str, kind: str = "invalid-parameter") -> Problem:
    """Refuse the request for one query parameter."""
    return Problem(
        HTTPStatus.BAD_REQUEST,
        kind,
        f"{parameter}: {detail}",
        errors=[{"parameter": parameter, "detail": detail}],
    )


def body_problem(detail: str, *, pointer: str) -> Problem:
    """Refuse the request for one place in its body."""
    return Problem(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "invalid-object",
        "The object was refused.",
        errors=[{"pointer": pointer, "detail": detail}],
    )


def pointer_to(field_path: str) -> str:
    """Turn a Kubernetes field path (`spec.a[0].b[key]`) into a JSON pointer (`/spec/a/0/b/key`)."""
    parts = re.findall(r"\[([^\]]*)\]|([^.\[\]]+)", field_path)
    names = [bracketed.strip("\"'") or plain for bracketed, plain in parts]
    return "".join("/" + name.replace("~", "~0").replace("/", "~1") for name in names)


def exception_handler(error: Exception, context: Mapping[str, object]) -> Response | None:
    """Answer REST framework's and the cluster's errors; others stay errors of this server."""
    del context
    problem = _problem_of(error)
    if problem is None:
        return None
    set_rollback()
    body: JsonObject = {
        "type": f"{TYPE_PREFIX}{problem.kind}",
        "title": problem.kind.replace("-", " ").capitalize(),
        "status": int(problem.status),
        "detail": problem.detail,
        **problem.members,
    }
    if problem.errors:
        body["errors"] = list(problem.errors)
    headers = {}
    if isinstance(error, exceptions.APIException):
        if challenge := getattr(error, "auth_header", None):
            headers["WWW-Authenticate"] = str(challenge)
        if wait := getattr(error, "wait", None):
            headers["Retry-After"] = str(int(wait))
    if problem.status == HTTPStatus.SERVICE_UNAVAILABLE:
        headers["Retry-After"] = str(RETRY_SECONDS)
    return Response(body, status=problem.status, headers=headers, content_type=CONTENT_TYPE)


def _problem_of(error: Exception) -> Problem | None:  # noqa: PLR0911 - one answer for each kind of error
    match error:
        case Problem():
            return error
        case RightsUnknownError():
            return Problem(HTTPStatus.SERVICE_UNAVAILABLE, "rights-unknown", str(error))
        case ApiError():
            return _cluster_problem(error)
        case RedisError():
            detail = "Live state and locks are away: Redis did not answer."
            return Problem(HTTPStatus.SERVICE_UNAVAILABLE, "redis-away", detail)
        case Http404():
            return Problem(HTTPStatus.NOT_FOUND, "not-found", "There is nothing here.")
        case PermissionDenied():
            return Problem(HTTPStatus.FORBIDDEN, "forbidden", str(error) or "Not allowed.")
        case exceptions.ValidationError():
            return Problem(
                HTTPStatus.BAD_REQUEST,
                "invalid-parameter",
                "The request was refused.",
                errors=list(_parameter_errors(error.detail)),
            )
        case exceptions.APIException():
            status = HTTPStatus(error.status_code)
            kind = status.phrase.lower().replace(" ", "-")
            return Problem(status, kind, str(error.detail))
        case _:
            return None


def _parameter_errors(detail: object) -> Iterator[JsonObject]:
    for parameter, messages in detail.items() if isinstance(detail, dict) else ():
        for message in messages if isinstance(messages, list) else [messages]:
            yield {"parameter": str(parameter), "detail": str(message)}


def _cluster_problem(error: ApiError) -> Problem:
    errors: list[JsonObject] = [
        {"pointer": pointer_to(cause.field), "detail": cause.message} for cause in error.causes
    ]
    kinds = {
        HTTPStatus.BAD_REQUEST: "refused-by-cluster",
        HTTPStatus.FORBIDDEN: "forbidden-by-cluster",
        HTTPStatus.NOT_FOUND: "not-found",
        HTTPStatus.CONFLICT: "conflict",
        HTTPStatus.UNPROCESSABLE_ENTITY: "invalid-object",
        HTTPStatus.TOO_MANY_REQUESTS: "cluster-busy",
    }
    for status, kind in kinds.items():
        if error.status == status:
            return Problem(status, kind, error.message, errors=errors)
    return Problem(HTTPStatus.SERVICE_UNAVAILABLE, "cluster-away", error.message)
