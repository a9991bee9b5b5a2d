"""What can go wrong when the console speaks to an API server.

The HTTP library's own exceptions stop in this package: callers decide on the classes
below and on nothing else. An API server explains itself with a `Status` object
(apimachinery `meta/v1.Status`), whose `reason`, `message` and `causes` are kept, since
they name the field that was refused. The original exception is chained as `__cause__`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Cause:
    """One entry of `details.causes`: which field was refused, and why."""

    field: str
    """Field path such as `spec.devices.requests[0].name`; empty if the server named none."""

    reason: str
    """Such as `FieldValueInvalid`; empty if the server gave none."""

    message: str


class ApiError(Exception):
    """The API server refused or failed a request, or could not be reached."""

    def __init__(  # noqa: PLR0913 - the parts of a refusal
        self,
        message: str,
        *,
        status: int = 0,
        reason: str = "",
        causes: tuple[Cause, ...] = (),
        retry_after_seconds: int | None = None,
        names_object: bool = False,
    ) -> None:
        """Take what the server said.

        `status` 0 means that no usable answer came. `names_object` tells that the server knew
        what the path stands for: without it, a 404 means that there is no such kind here.
        """
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.message = message
        self.causes = causes
        self.retry_after_seconds = retry_after_seconds
        self.names_object = names_object


class ConflictError(ApiError):
    """The object changed since it was read, or exists already (HTTP 409)."""


class ExpiredError(ApiError):
    """The resource version or list position is of no use any more; list again.

    It is too old (HTTP 410), or newer than all that the server knows (HTTP 504): then the
    server was set back, or another one answers.
    """


class ForbiddenError(ApiError):
    """The identity lacks the right (HTTP 403); trying again cannot help."""


class NotFoundError(ApiError):
    """The object does not exist, or the kind is not served (HTTP 404)."""


class InvalidError(ApiError):
    """The object breaks a rule of its kind; `causes` name the fields, in the shape of v1.

    Also for a field that the server does not know (HTTP 400 of `fieldValidation=Strict`).
    """


class KubeconfigError(ApiError):
    """The credentials for a cluster cannot be loaded; the message names file and context."""


_CLASS_BY_STATUS: Mapping[int, type[ApiError]] = {
    403: ForbiddenError,
    404: NotFoundError,
    409: ConflictError,
    410: ExpiredError,
    422: InvalidError,
}
_BAD_REQUEST: Final = 400
_VERSION_TOO_LARGE: Final = "ResourceVersionTooLarge"
_STRICT: Final = re.compile(r'\b(unknown|duplicate) field "([^"]+)"')


def error_of(status: int, body: object, *, retry_after_seconds: int | None = None) -> ApiError:
    """Turn an error answer into the exception that says the same.

    `body` is the decoded `Status` object, or anything else if a proxy answered in the API
    server's place; then the HTTP status alone speaks.
    """
    if not isinstance(body, Mapping) or body.get("kind") != "Status":
        error_class = _CLASS_BY_STATUS.get(status, ApiError)
        return error_class(
            f"the API server answered HTTP {status}",
            status=status,
            retry_after_seconds=retry_after_seconds,
        )
    code = body.get("code")
    # Watch streams carry a Status in a 200 answer: its own code is the one that counts.
    status = code if isinstance(code, int) and code else status
    error_class = _CLASS_BY_STATUS.get(status, ApiError)
    message = _text(body.get("message"))
    details = body.get("details")
    causes = _causes(details)
    if status == _BAD_REQUEST and (unknown := _refused_by_strict_decoding(message)):
        error_class, causes = InvalidError, unknown
    if any(cause.reason == _VERSION_TOO_LARGE for cause in causes):
        error_class = ExpiredError
    return error_class(
        message or f"the API server answered HTTP {status}",
        status=status,
        reason=_text(body.get("reason")),
        causes=causes,
        retry_after_seconds=retry_after_seconds,
        names_object=isinstance(details, Mapping) and bool(details.get("kind")),
    )


def _refused_by_strict_decoding(message: str) -> tuple[Cause, ...]:
    """Read the fields out of the message, which is the only place where a server names them."""
    _, found, refusals = message.partition("strict decoding error: ")
    if not found:
        return ()
    return tuple(
        Cause(field, reason="FieldValueNotSupported", message=f"{what} field")
        for what, field in _STRICT.findall(refusals)
    )


def _causes(details: object) -> tuple[Cause, ...]:
    causes = details.get("causes") if isinstance(details, Mapping) else None
    if not isinstance(causes, Sequence) or isinstance(causes, str):
        return ()
    return tuple(
        Cause(
            field=_text(cause.get("field")),
            reason=_text(cause.get("reason")),
            message=_text(cause.get("message")),
        )
        for cause in causes
        if isinstance(cause, Mapping)
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
