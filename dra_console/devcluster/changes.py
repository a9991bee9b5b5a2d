"""Writes that passed all rules and are not done yet.

A write has two halves: these pure functions make a `Change` of a request, and `Store.commit`
does it. A dry run is the first half alone.
"""

from dataclasses import dataclass

import orjson

from dra_console.allocator.model import JsonObject
from dra_console.devcluster.admission import admit_create, admit_update
from dra_console.devcluster.canonical import canonical
from dra_console.devcluster.errors import (
    BadRequestError,
    Cause,
    ConflictError,
    ForbiddenError,
    InvalidError,
    PreconditionFailedError,
)
from dra_console.devcluster.eventlog import EventType
from dra_console.devcluster.metadata import (
    Deletion,
    check_preconditions,
    count_generation,
    finalizers_of,
    generated_name,
    is_held,
    mark_deleted,
    metadata_of,
    name_causes,
    new_uid,
    now,
    text,
    timestamp,
)
from dra_console.devcluster.stored import Stored
from dra_console.kube.kinds import (
    DEVICE_CLASSES,
    DEVICE_TAINT_RULES,
    PODS,
    RESOURCE_SLICES,
    Kind,
)

KINDS_WITH_GENERATION = frozenset({DEVICE_CLASSES, DEVICE_TAINT_RULES, PODS, RESOURCE_SLICES})
"""Kinds whose changes of the spec are counted; the others have no `generation` at all."""

WITHOUT_GENERATION = frozenset({"binding"})
"""A node is given to a pod beside the rules for updates."""

SYSTEM_FIELDS = (
    "uid",
    "creationTimestamp",
    "generation",
    "resourceVersion",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generateName",
    "selfLink",
)
"""Fields of `metadata` that an update cannot change."""


@dataclass(frozen=True, slots=True)
class Change:
    """One write to be done: `value` is the object as it will be, but for its version."""

    type: EventType
    kind: Kind
    value: JsonObject
    previous: Stored | None

    @property
    def is_empty(self) -> bool:
        """Whether the write would change nothing, and so makes no new version."""
        return (
            self.type is EventType.MODIFIED
            and self.previous is not None
            and self.value == self.previous.value
        )

    @property
    def last_state(self) -> JsonObject:
        """What watchers of a deletion see: the object as it was stored before.

        An update that takes the last finalizer off answers with the object without it, but is
        never stored in that form.
        """
        if self.previous is None:
            return self.value
        last = self.previous.copy()
        metadata, grace = metadata_of(last), metadata_of(self.value)
        if "deletionGracePeriodSeconds" in metadata and "deletionGracePeriodSeconds" in grace:
            metadata["deletionGracePeriodSeconds"] = grace["deletionGracePeriodSeconds"]
        return last


def named(kind: Kind, obj: JsonObject) -> JsonObject:
    """Copy a new object and give it its name where it asks for a generated one.

    Raises:
        BadRequestError: metadata that cannot be read, a version in it, no namespace.
        InvalidError: no name, or not a valid one.

    """
    value: JsonObject = orjson.loads(orjson.dumps(obj))
    metadata = metadata_of(value)
    if metadata.get("resourceVersion"):
        raise BadRequestError("resourceVersion should not be set on objects to be created")
    base = text(metadata, "generateName")
    if not metadata.get("name") and base:
        metadata["name"] = generated_name(base)
    name = text(metadata, "name")
    if not name:
        message = "Required value: name or generateName is required"
        cause = Cause("metadata.name", "FieldValueRequired", message)
        raise InvalidError.of(kind, "", (cause,))
    if causes := name_causes(kind, name):
        raise InvalidError.of(kind, name, causes)
    if not kind.namespaced:
        metadata.pop("namespace", None)
    elif not text(metadata, "namespace"):
        raise BadRequestError(f"metadata.namespace: required for {kind.plural}")
    return value


def creation(kind: Kind, value: JsonObject, *, namespace: JsonObject | None) -> Change:
    """Complete a named object; `namespace` is where it goes, `None` for cluster-scoped kinds.

    Raises:
        ForbiddenError, InvalidError: a rule of the kind.

    """
    metadata = metadata_of(value)
    if namespace is not None:
        _check_open(namespace, kind, text(metadata, "name"))
    admit_create(kind, value, namespace=namespace)
    metadata = metadata_of(value)
    for field in SYSTEM_FIELDS:
        if field != "generateName":
            metadata.pop(field, None)
    finalizers_of(metadata)
    metadata["uid"] = new_uid()
    metadata["creationTimestamp"] = timestamp(now())
    if kind in KINDS_WITH_GENERATION:
        metadata["generation"] = 1
    completed: JsonObject = {"apiVersion": kind.api_version, "kind": kind.kind}
    return Change(EventType.ADDED, kind, canonical({**value, **completed}), None)


def replacement(
    kind: Kind,
    obj: JsonObject,
    *,
    previous: Stored,
    subresource: str,
    namespace: JsonObject | None,
) -> Change:
    """Complete a changed object; `subresource` says which part of it may change.

    Raises:
        BadRequestError: metadata that cannot be read.
        ConflictError: `resourceVersion` or `uid` are given and are not the stored ones.
        ForbiddenError, InvalidError: a rule of the kind.

    """
    value: JsonObject = orjson.loads(orjson.dumps(obj))
    metadata = metadata_of(value)
    old = previous.copy()
    old_metadata = metadata_of(old)
    given = Deletion(uid=text(metadata, "uid") or None)
    check_preconditions(kind, old, given)
    version = text(metadata, "resourceVersion")
    if version and version != str(previous.resource_version):
        raise ConflictError.of(kind, previous.name)
    admit_update(kind, value, old=old, subresource=subresource, namespace=namespace)
    metadata = metadata_of(value)
    _keep_system_fields(kind, metadata, old_metadata)
    value = canonical({**value, "apiVersion": kind.api_version, "kind": kind.kind})
    if value.get("spec") != old.get("spec") and subresource not in WITHOUT_GENERATION:
        count_generation(value)
    done = "deletionTimestamp" in metadata and not is_held(kind, value)
    return Change(EventType.DELETED if done else EventType.MODIFIED, kind, value, previous)


def removal(kind: Kind, *, previous: Stored, deletion: Deletion) -> Change:
    """Mark an object deleted; the change is of type MODIFIED where something still holds it.

    Raises:
        ConflictError: a precondition does not hold.

    """
    value = previous.copy()
    try:
        check_preconditions(kind, value, deletion)
    except ConflictError as error:
        raise PreconditionFailedError(error.message, kind=kind, name=previous.name) from error
    mark_deleted(kind, value, deletion)
    if is_held(kind, value):
        return Change(EventType.MODIFIED, kind, value, previous)
    last = previous.copy()
    if "deletionGracePeriodSeconds" in metadata_of(last):
        grace = metadata_of(value)["deletionGracePeriodSeconds"]
        metadata_of(last)["deletionGracePeriodSeconds"] = grace
    return Change(EventType.DELETED, kind, last, previous)


def _keep_system_fields(kind: Kind, metadata: JsonObject, old: JsonObject) -> None:
    for field in SYSTEM_FIELDS:
        if field in old:
            metadata[field] = old[field]
        else:
            metadata.pop(field, None)
    if "deletionTimestamp" not in old:
        finalizers_of(metadata)
        return
    added = set(finalizers_of(metadata)) - set(finalizers_of(old))
    if added:
        message = (
            "Forbidden: no new finalizers can be added if the object is being deleted, found new"
            f" finalizers {sorted(added)}"
        )
        cause = Cause("metadata.finalizers", "FieldValueForbidden", message)
        raise InvalidError.of(kind, text(old, "name"), (cause,))


def _check_open(namespace: JsonObject, kind: Kind, name: str) -> None:
    metadata = metadata_of(namespace)
    if "deletionTimestamp" not in metadata:
        return
    namespace_name = text(metadata, "name")
    message = (
        f'{kind.plural} "{name}" is forbidden: unable to create new content in namespace'
        f" {namespace_name} because it is being terminated"
    )
    cause = Cause(
        "metadata.namespace",
        "NamespaceTerminating",
        f"namespace {namespace_name} is being terminated",
    )
    raise ForbiddenError(message, kind=kind, name=name, causes=(cause,))
