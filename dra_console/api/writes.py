"""Create and delete objects as the person who asks; every try is audited.

The API server decides: it sees the person by impersonation and checks rights, admission
and the object itself. What is refused here first is refused with a better message, never
with a different verdict.
"""

from collections.abc import Callable, Sequence
from http import HTTPStatus

from django.contrib.auth.models import AbstractBaseUser

from dra_console.access import rules
from dra_console.access.audit import Write, audited
from dra_console.allocator.model import Json, JsonObject
from dra_console.allocator.validation.validate import FieldError
from dra_console.api.problems import Problem, body_problem, pointer_to
from dra_console.kube.errors import ConflictError
from dra_console.kube.kinds import Kind
from dra_console.mirror.models import Cluster
from dra_console.mirror.models.cluster import MirroredObject

Validation = Callable[[JsonObject], Sequence[FieldError]]


def create(
    account: AbstractBaseUser,
    manifest: JsonObject,
    *,
    cluster: Cluster,
    kind: Kind,
    dry_run: bool,
) -> JsonObject:
    """Create the object in the namespace that it names, and return what is (or would be) stored.

    Raises:
        Problem: it names no namespace or no name.
        ApiError: the API server refused it.

    """
    namespace = _text(manifest, "namespace")
    name = _text(manifest, "name") or _text(manifest, "generateName")
    if not namespace:
        raise body_problem("expected the namespace to create it in", pointer="/metadata/namespace")
    if not name:
        raise body_problem("expected a name, or generateName", pointer="/metadata/name")
    client = rules.client_for(account, cluster)
    write = Write(cluster, "create", kind, namespace=namespace, name=name, dry_run=dry_run)
    with audited(account, write) as effect:
        created = client.create(kind, manifest, namespace=namespace, dry_run=dry_run)
        effect.after = created
    return created


def delete(
    account: AbstractBaseUser, row: MirroredObject, *, kind: Kind, if_match: str | None
) -> None:
    """Ask for the deletion of the very object that the caller saw.

    Raises:
        Problem: `if_match` is missing, or the object has changed since.
        ApiError: the API server refused it.

    """
    if not if_match:
        raise Problem(
            HTTPStatus.PRECONDITION_REQUIRED,
            "precondition-required",
            "Send If-Match with the ETag of the object, so that only what you saw is deleted.",
        )
    seen = if_match.strip().removeprefix("W/").strip('"')
    if seen != row.resource_version:
        raise _changed(seen, current=row.resource_version)
    client = rules.client_for(account, row.cluster)
    write = Write(row.cluster, "delete", kind, namespace=row.namespace, name=row.name)
    try:
        with audited(account, write) as effect:
            effect.before = row.raw
            client.delete(
                kind,
                row.name,
                namespace=row.namespace or None,
                uid=row.uid,
                resource_version=seen,
            )
    except ConflictError as error:
        raise _changed(seen, current=None) from error


def read_manifest(body: object, *, kind: Kind, validate: Validation) -> JsonObject:
    """Check that a request's body is an object of this kind, as far as can be told here.

    Raises:
        Problem: it is not; `errors` point at every refused field.

    """
    if not isinstance(body, dict):
        raise body_problem(f"expected a {kind.kind} as JSON object", pointer="")
    manifest: JsonObject = {"apiVersion": kind.api_version, "kind": kind.kind, **body}
    for field, expected in (("apiVersion", kind.api_version), ("kind", kind.kind)):
        if manifest[field] != expected:
            raise body_problem(f"expected {expected}, got {manifest[field]!r}", pointer=f"/{field}")
    if not isinstance(manifest.get("metadata"), dict):
        raise body_problem("expected an object with name and namespace", pointer="/metadata")
    refused = validate(manifest)
    if refused:
        raise Problem(
            HTTPStatus.UNPROCESSABLE_ENTITY,
            "invalid-object",
            f"{kind.kind} has {len(refused)} invalid field(s).",
            errors=[
                {"pointer": pointer_to(error.field), "detail": error.message} for error in refused
            ],
        )
    return manifest


def _changed(seen: str, *, current: str | None) -> Problem:
    return Problem(
        HTTPStatus.PRECONDITION_FAILED,
        "changed-since",
        "The object has changed since you read it; read it again.",
        members={"yourVersion": seen, "currentVersion": current},
    )


def _text(manifest: JsonObject, member: str) -> str:
    metadata = manifest.get("metadata")
    value: Json = metadata.get(member) if isinstance(metadata, dict) else None
    return value if isinstance(value, str) else ""
