"""Create, update, patch, delete and delete a collection."""

from dra_console.allocator.model import Json, JsonObject
from dra_console.devcluster.changes import Change
from dra_console.devcluster.errors import (
    BadRequestError,
    Cause,
    InvalidError,
    UnsupportedMediaTypeError,
)
from dra_console.devcluster.http_paths import Target
from dra_console.devcluster.http_read import selector_of
from dra_console.devcluster.http_request import (
    Request,
    decode,
    decode_object,
    dry_run,
    media_type,
)
from dra_console.devcluster.http_response import Response, json_response
from dra_console.devcluster.metadata import Deletion, Propagation, metadata_of, text
from dra_console.devcluster.patches import PatchFailedError, apply_operations
from dra_console.devcluster.store import Store
from dra_console.devcluster.strategic import strategic_merge
from dra_console.kube.merging import merged_value

APPLY_TYPES = frozenset({"application/apply-patch+yaml", "application/apply-patch+cbor"})


def create_object(store: Store, target: Target, request: Request) -> Response:
    """Create the object in the body."""
    obj = _addressed(target, decode_object(request))
    change = store.prepare_create(target.kind, obj)
    return _done(store, change, request, status=201)


def update_object(store: Store, target: Target, request: Request) -> Response:
    """Replace the object, or the part of it that the path names."""
    obj = _addressed(target, decode_object(request))
    return _updated(store, target, obj, request)


def patch_object(store: Store, target: Target, request: Request) -> Response:
    """Change the object by one of the three kinds of patch.

    Raises:
        InvalidError: a JSON patch that does not fit the object.
        UnsupportedMediaTypeError: server-side apply, or a type that is no patch.

    """
    current = store.get(target.kind, target.namespace or "", target.name)
    patched = _patched(target, current, request)
    if not isinstance(patched, dict):
        raise BadRequestError("patch: the result is not an object")
    _check_same(target, current, patched)
    return _updated(store, target, _addressed(target, patched), request)


def delete_object(store: Store, target: Target, request: Request) -> Response:
    """Delete the object; the answer is its last state, or what it waits in."""
    deletion, is_dry_run = deletion_of(_delete_options(request), request)
    change = store.prepare_delete(
        target.kind, target.namespace or "", target.name, deletion=deletion
    )
    return json_response(change.value if is_dry_run else store.commit(change))


def delete_collection(store: Store, target: Target, request: Request) -> Response:
    """Delete all objects that the selectors choose; the answer lists them."""
    deletion, is_dry_run = deletion_of(_delete_options(request), request)
    selector = selector_of(target, request)
    deleted: list[JsonObject] = []
    for stored in store.at(store.resource_version, target.kind, namespace=target.namespace):
        if selector.matches(stored.value):
            change = store.prepare_delete(
                target.kind, stored.namespace, stored.name, deletion=deletion
            )
            deleted.append(change.value if is_dry_run else store.commit(change))
    return json_response(
        {
            "kind": f"{target.kind.kind}List",
            "apiVersion": target.kind.api_version,
            "metadata": {"resourceVersion": str(store.resource_version)},
            "items": [_as_item(each) for each in deleted],
        }
    )


def _as_item(obj: JsonObject) -> JsonObject:
    """Leave out what a list says for all its items."""
    return {key: value for key, value in obj.items() if key not in {"apiVersion", "kind"}}


def deletion_of(options: JsonObject, request: Request) -> tuple[Deletion, bool]:
    """Read `DeleteOptions` and the query beside them; the second value is `dryRun`.

    Raises:
        BadRequestError: an option that cannot be read.
        InvalidError: an option with an unknown value.

    """
    preconditions = options.get("preconditions") or {}
    if not isinstance(preconditions, dict):
        raise BadRequestError("preconditions: expected an object")
    grace = options.get("gracePeriodSeconds", request.number("gracePeriodSeconds"))
    if grace is not None and (not isinstance(grace, int) or isinstance(grace, bool) or grace < 0):
        raise BadRequestError(f"gracePeriodSeconds: expected a whole number, got {grace!r}")
    asked = options.get("dryRun") or []
    words = asked if isinstance(asked, list) else [asked]
    deletion = Deletion(
        uid=_optional_text(preconditions, "uid"),
        resource_version=_optional_text(preconditions, "resourceVersion"),
        grace_period_seconds=grace,
        propagation=_propagation(options, request),
    )
    return deletion, request.is_dry_run or any(dry_run(str(word)) for word in words)


def _delete_options(request: Request) -> JsonObject:
    return decode_object(request) if request.body.strip() else {}


def _propagation(options: JsonObject, request: Request) -> Propagation:
    orphans = options.get("orphanDependents", request.flag("orphanDependents"))
    word = options.get("propagationPolicy") or request.query.get("propagationPolicy")
    if word is None:
        return Propagation.ORPHAN if orphans is True else Propagation.BACKGROUND
    try:
        return Propagation(str(word))
    except ValueError:
        choices = ", ".join(f'"{choice}"' for choice in Propagation)
        message = f'Unsupported value: "{word}": supported values: {choices}'
        cause = Cause("propagationPolicy", "FieldValueNotSupported", message)
        raise InvalidError(f"propagationPolicy: {message}", causes=(cause,)) from None


def _optional_text(obj: JsonObject, field: str) -> str | None:
    value = obj.get(field)
    if value is not None and not isinstance(value, str):
        raise BadRequestError(f"preconditions.{field}: expected a string, got {value!r}")
    return value


def _patched(target: Target, current: JsonObject, request: Request) -> Json:
    content_type = media_type(request)
    if content_type in APPLY_TYPES:
        raise UnsupportedMediaTypeError(
            "server-side apply is not offered by devcluster; use client-side apply"
            " (kubectl apply without --server-side) or a patch"
        )
    if content_type == "application/json-patch+json":
        try:
            return apply_operations(current, decode(request.body, content_type))
        except PatchFailedError as error:
            raise InvalidError(
                f"the server rejected our request due to an error in our request: {error}",
                kind=target.kind,
                name=target.name,
            ) from error
    if content_type == "application/merge-patch+json":
        return merged_value(current, decode(request.body, content_type))
    if content_type == "application/strategic-merge-patch+json":
        return strategic_merge(current, decode(request.body, content_type))
    raise UnsupportedMediaTypeError(
        f"the body of the request was in an unknown format - got {content_type!r}, accepted media"
        " types include: application/json-patch+json, application/merge-patch+json,"
        " application/strategic-merge-patch+json"
    )


def _check_same(target: Target, current: JsonObject, patched: JsonObject) -> None:
    """Refuse a patch of the UID; a whole object with another one is a conflict instead."""
    uid = text(metadata_of(patched), "uid")
    if uid in {"", text(metadata_of(current), "uid")}:
        return
    message = f'Invalid value: "{uid}": field is immutable'
    cause = Cause("metadata.uid", "FieldValueInvalid", message)
    raise InvalidError.of(target.kind, target.name, (cause,))


def _updated(store: Store, target: Target, obj: JsonObject, request: Request) -> Response:
    subresource = target.subresource.name if target.subresource else ""
    change = store.prepare_update(target.kind, obj, subresource=subresource)
    return _done(store, change, request, status=200)


def _done(store: Store, change: Change, request: Request, *, status: int) -> Response:
    value = change.value if request.is_dry_run else store.commit(change)
    return json_response(value, status=status)


def _addressed(target: Target, obj: JsonObject) -> JsonObject:
    """Check that the object is what the path says, and complete its name and namespace."""
    kind = target.kind
    named_kind = (obj.get("apiVersion", kind.api_version), obj.get("kind", kind.kind))
    if named_kind != (kind.api_version, kind.kind):
        raise BadRequestError(
            f"the object provided is {named_kind[1]} in {named_kind[0]}, expected {kind.kind} in"
            f" {kind.api_version}"
        )
    metadata = metadata_of(obj)
    if target.name and metadata.setdefault("name", target.name) != target.name:
        raise BadRequestError(
            f"the name of the object ({metadata['name']}) does not match the name on the URL"
            f" ({target.name})"
        )
    if target.namespace is not None:
        if (text(metadata, "namespace") or target.namespace) != target.namespace:
            raise BadRequestError(
                "the namespace of the provided object does not match the namespace sent on the"
                " request"
            )
        metadata["namespace"] = target.namespace
    return obj
