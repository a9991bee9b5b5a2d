"""What the embedded API server refuses, each with the `Status` that Kubernetes would send.

Callers decide on the class; the wording follows Kubernetes', since people and clients match on it.
"""

from dataclasses import dataclass
from typing import ClassVar, Self

from dra_console.allocator.model import Json, JsonObject
from dra_console.kube.kinds import NAMESPACES, Kind


@dataclass(frozen=True, slots=True)
class Cause:
    """One field that is wrong: `reason` is `FieldValueInvalid` and the like."""

    field: str
    reason: str
    message: str

    def to_json(self) -> JsonObject:
        cause: JsonObject = {"reason": self.reason, "message": self.message}
        return {**cause, "field": self.field} if self.field else cause


def qualified_resource(kind: Kind) -> str:
    """Name the resource as messages do: `pods`, `resourceclaims.resource.k8s.io`."""
    return f"{kind.plural}.{kind.group}" if kind.group else kind.plural


class StatusError(Exception):
    """A request that ends in a `Status` of kind Failure."""

    code: ClassVar[int] = 500
    reason: ClassVar[str] = "InternalError"

    def __init__(
        self,
        message: str,
        *,
        kind: Kind | None = None,
        name: str = "",
        causes: tuple[Cause, ...] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.kind = kind
        self.name = name
        self.causes = causes

    def to_json(self) -> JsonObject:
        status: JsonObject = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            "code": self.code,
        }
        details: JsonObject = {}
        if self.name:
            details["name"] = self.name
        if self.kind is not None:
            if self.kind.group:
                details["group"] = self.kind.group
            details["kind"] = self.kind.plural
        if self.causes:
            causes: list[Json] = [cause.to_json() for cause in self.causes]
            details["causes"] = causes
        if details:
            status["details"] = details
        return status


class BadRequestError(StatusError):
    """The request cannot be read: bad JSON, a bad parameter, a name that contradicts the path."""

    code = 400
    reason = "BadRequest"


class UnauthorizedError(StatusError):
    """Credentials were sent that this server does not accept."""

    code = 401
    reason = "Unauthorized"


class ForbiddenError(StatusError):
    """The caller may not do this, or the namespace does not permit it."""

    code = 403
    reason = "Forbidden"


class NotFoundError(StatusError):
    """No such object, or no such path."""

    code = 404
    reason = "NotFound"

    @classmethod
    def of(cls, kind: Kind, name: str) -> "NotFoundError":
        return cls(f'{qualified_resource(kind)} "{name}" not found', kind=kind, name=name)


class NotServedError(NotFoundError):
    """No such path."""

    def to_json(self) -> JsonObject:
        """As the base does, with details that tell nothing."""
        return {**super().to_json(), "details": {}}


class MethodNotAllowedError(StatusError):
    """The path exists, the verb does not."""

    code = 405
    reason = "MethodNotAllowed"


class NotAcceptableError(StatusError):
    """None of the media types that the client accepts can be written."""

    code = 406
    reason = "NotAcceptable"


class AlreadyExistsError(StatusError):
    """An object of that name is there already."""

    code = 409
    reason = "AlreadyExists"

    @classmethod
    def of(cls, kind: Kind, name: str) -> "AlreadyExistsError":
        return cls(f'{qualified_resource(kind)} "{name}" already exists', kind=kind, name=name)


class ConflictError(StatusError):
    """The object is not the one the caller read: its version or its uid differs."""

    code = 409
    reason = "Conflict"

    @classmethod
    def of(cls, kind: Kind, name: str, why: str = "") -> Self:
        why = why or (
            "the object has been modified; please apply your changes to the latest version"
            " and try again"
        )
        return cls(
            f'Operation cannot be fulfilled on {qualified_resource(kind)} "{name}": {why}',
            kind=kind,
            name=name,
        )


class PreconditionFailedError(ConflictError):
    """The object to delete is not the one that the caller means."""

    def to_json(self) -> JsonObject:
        """As the base does, but with the kind's own name, as Kubernetes writes it here."""
        status = super().to_json()
        details = status.get("details")
        if isinstance(details, dict) and self.kind is not None and self.kind != NAMESPACES:
            details["kind"] = self.kind.kind
        return status


class GoneError(StatusError):
    """The resource version is no longer (or not yet) in the event log: list again."""

    code = 410
    reason = "Expired"


class UnsupportedMediaTypeError(StatusError):
    """The body, or the patch, is of a kind that this server does not read."""

    code = 415
    reason = "UnsupportedMediaType"


class InvalidError(StatusError):
    """The object breaks rules of its kind; each cause names its field."""

    code = 422
    reason = "Invalid"

    @classmethod
    def of(cls, kind: Kind, name: str, causes: tuple[Cause, ...]) -> "InvalidError":
        lines = [f"{cause.field}: {cause.message}" for cause in causes]
        text = lines[0] if len(lines) == 1 else f"[{', '.join(lines)}]"
        subject = f"{kind.kind}.{kind.group}" if kind.group else kind.kind
        return cls(f'{subject} "{name}" is invalid: {text}', kind=kind, name=name, causes=causes)

    def to_json(self) -> JsonObject:
        """As the base does, but with the kind's own name, as Kubernetes writes it for 422."""
        status = super().to_json()
        details = status.get("details")
        if isinstance(details, dict) and self.kind is not None:
            details["kind"] = self.kind.kind
        return status


class TooLargeVersionError(StatusError):
    """A list was asked for at a resource version that was never given out."""

    code = 504
    reason = "Timeout"
