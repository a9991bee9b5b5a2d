"""What can go wrong when the agent speaks to the API server.

The HTTP client's own exceptions stop in this package: callers decide on these cases only.
"""


class KubeError(Exception):
    """The API server refused or failed a request, or did not answer it."""


class UnreachableError(KubeError):
    """No answer came; whether the server did the work is not known."""


class CredentialsError(KubeError):
    """The kubeconfig or the service account's files cannot be used."""


class StatusError(KubeError):
    """The API server answered with a failure."""

    def __init__(
        self, status: int, message: str, *, retry_after_seconds: float | None = None
    ) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status
        self.retry_after_seconds = retry_after_seconds


class ForbiddenError(StatusError):
    """The agent's service account lacks the right that the message names (HTTP 403)."""


class NotFoundError(StatusError):
    """There is no such object, or no such kind is served (HTTP 404)."""


class NotServedError(NotFoundError):
    """No such kind is served, or not in that version: of objects that says nothing (HTTP 404)."""


class ConflictError(StatusError):
    """The object changed since it was read, or exists already (HTTP 409)."""


class ExpiredError(StatusError):
    """The resource version is too old to watch from; list again (HTTP 410)."""


class InvalidError(StatusError):
    """The API server's validation refused the object (HTTP 422)."""


_BY_STATUS: dict[int, type[StatusError]] = {
    403: ForbiddenError,
    404: NotFoundError,
    409: ConflictError,
    410: ExpiredError,
    422: InvalidError,
}


def status_error(
    status: int, message: str, *, retry_after_seconds: float | None = None
) -> StatusError:
    """Make the error that an HTTP status stands for."""
    kind = _BY_STATUS.get(status, StatusError)
    return kind(status, message, retry_after_seconds=retry_after_seconds)
