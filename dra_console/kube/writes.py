"""What writes ask for, and patches that a server of an older version would not understand."""

from collections.abc import Callable
from typing import Final

from dra_console.allocator.model import JsonObject
from dra_console.kube.errors import ApiError, ConflictError
from dra_console.kube.kinds import Kind
from dra_console.kube.merging import merged_object
from dra_console.kube.shapes import is_reshaped

ATTEMPTS: Final = 5


def write_options(*, dry_run: bool = False) -> dict[str, str]:
    """Spell the query of a write.

    As with kubectl, a field that the server does not know is refused and not dropped.
    """
    query = {"fieldValidation": "Strict"}
    return query | {"dryRun": "All"} if dry_run else query


def identity_in(body: JsonObject) -> tuple[str | None, str]:
    """Return the namespace, if any, and the name in an object's metadata.

    Raises:
        ApiError: it has no name.

    """
    metadata = body.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    namespace = metadata.get("namespace") if isinstance(metadata, dict) else None
    if not isinstance(name, str):
        raise ApiError("metadata.name: expected the name of the object to replace, got none")
    return namespace if isinstance(namespace, str) else None, name


def can_patch(patch: JsonObject, *, served: Kind) -> bool:
    """Tell whether a merge patch of v1 means the same in the served version.

    A merge patch replaces whole lists: where requests or devices have another shape, what it
    leaves alone and what it changes cannot be told apart without the object.
    """
    return "spec" not in patch or not is_reshaped(served)


def patch_by_replacing(
    patch: JsonObject,
    *,
    read: Callable[[], JsonObject],
    replace: Callable[[JsonObject], JsonObject],
) -> JsonObject:
    """Read, apply a merge patch here, and put the result in the object's place.

    The resource version that was read guards the write. When somebody else was faster it is
    done again, as the server itself does with patches, unless the patch names a version.

    Raises:
        ConflictError: the patch names a `resourceVersion` that is no longer current, or others
            kept being faster.

    """
    metadata = patch.get("metadata")
    names_version = isinstance(metadata, dict) and "resourceVersion" in metadata
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return replace(merged_object(read(), patch))
        except ConflictError:
            if names_version or attempt == ATTEMPTS:
                raise
    raise AssertionError("the last attempt returns or raises")
