"""What every kind shares: names, uids, versions, times, and how deletion waits.

Sources: the API conventions of Kubernetes; `dra-semantics.md` 4.2 for generated names.
"""

import re
import secrets
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final

from dra_console.allocator.model import JsonObject
from dra_console.devcluster.errors import BadRequestError, Cause, ConflictError
from dra_console.kube.kinds import NAMESPACES, PODS, Kind

GENERATED_SUFFIX_LENGTH: Final = 5
GENERATED_BASE_LENGTH: Final = 58
GENERATED_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"

LABEL_PATTERN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
LABEL_LENGTH: Final = 63
SUBDOMAIN_LENGTH: Final = 253

ORPHAN_FINALIZER: Final = "orphan"
FOREGROUND_FINALIZER: Final = "foregroundDeletion"

DEFAULT_GRACE_SECONDS: Final = 30
LONGEST_GRACE_SECONDS: Final = 2**31 - 1
"""More than anybody waits for, and still a date that can be written."""


class Propagation(StrEnum):
    """What becomes of the dependents of a deleted object."""

    BACKGROUND = "Background"
    FOREGROUND = "Foreground"
    ORPHAN = "Orphan"


@dataclass(frozen=True, slots=True)
class Deletion:
    """What a delete request says beside the name."""

    uid: str | None = None
    resource_version: str | None = None
    grace_period_seconds: int | None = None
    propagation: Propagation = Propagation.BACKGROUND


def timestamp(moment: datetime) -> str:
    """Spell a time as `metadata` does, in whole seconds of UTC."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def now() -> datetime:
    """Return the time in UTC."""
    return datetime.now(UTC)


def new_uid() -> str:
    """Return a random uid."""
    return str(uuid.uuid4())


def generated_name(base: str) -> str:
    """Append five random characters to a base that is cut to 58."""
    suffix = "".join(secrets.choice(GENERATED_ALPHABET) for _ in range(GENERATED_SUFFIX_LENGTH))
    return base[:GENERATED_BASE_LENGTH] + suffix


def metadata_of(obj: JsonObject) -> JsonObject:
    """Return the object's `metadata`, adding an empty one where it is absent.

    Raises:
        BadRequestError: it is not an object.

    """
    metadata = obj.setdefault("metadata", {})
    if not isinstance(metadata, dict):
        raise BadRequestError(f"metadata: expected an object, got {type(metadata).__name__}")
    return metadata


def text(metadata: JsonObject, field: str) -> str:
    """Return a string of `metadata`, empty where it is absent.

    Raises:
        BadRequestError: it is not a string.

    """
    value = metadata.get(field)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BadRequestError(f"metadata.{field}: expected a string, got {type(value).__name__}")
    return value


def name_causes(kind: Kind, name: str) -> tuple[Cause, ...]:
    """Tell what is wrong with a name: namespaces are DNS labels, the rest subdomains."""
    labels = [name] if kind == NAMESPACES else name.split(".")
    longest = LABEL_LENGTH if kind == NAMESPACES else SUBDOMAIN_LENGTH
    well_formed = all(LABEL_PATTERN.fullmatch(label) for label in labels)
    if well_formed and len(name) <= longest:
        return ()
    form, separators = ("label", "'-'") if kind == NAMESPACES else ("subdomain", "'-' or '.'")
    rule = (
        f"must be no more than {longest} characters"
        if well_formed
        else f"a lowercase RFC 1123 {form} must consist of lower case alphanumeric characters,"
        f" {separators}, and must start and end with an alphanumeric character"
    )
    return (Cause("metadata.name", "FieldValueInvalid", f'Invalid value: "{name}": {rule}'),)


def count_generation(obj: JsonObject) -> None:
    """Count one more change of what is wanted, for objects whose changes are counted."""
    metadata = metadata_of(obj)
    generation = metadata.get("generation")
    if isinstance(generation, int):
        metadata["generation"] = generation + 1


def finalizers_of(metadata: JsonObject) -> list[str]:
    """Return the finalizers.

    Raises:
        BadRequestError: not a list of strings.

    """
    finalizers = metadata.get("finalizers") or []
    if not isinstance(finalizers, list):
        raise BadRequestError("metadata.finalizers: expected a list of strings")
    names = [finalizer for finalizer in finalizers if isinstance(finalizer, str)]
    if len(names) != len(finalizers):
        raise BadRequestError("metadata.finalizers: expected a list of strings")
    return names


def check_preconditions(kind: Kind, current: JsonObject, deletion: Deletion) -> None:
    """Refuse where the object is not the one the caller means.

    Raises:
        ConflictError: the uid or the resource version differs.

    """
    metadata = metadata_of(current)
    name = text(metadata, "name")
    pairs = (
        ("UID", deletion.uid, text(metadata, "uid")),
        ("ResourceVersion", deletion.resource_version, text(metadata, "resourceVersion")),
    )
    for word, wanted, actual in pairs:
        if wanted is not None and wanted != actual:
            why = (
                f"Precondition failed: {word} in precondition: {wanted},"
                f" {word} in object meta: {actual}"
            )
            raise ConflictError.of(kind, name, why)


def grace_seconds(kind: Kind, obj: JsonObject, requested: int | None) -> int:
    """How long the kubelet may take: only a pod that runs on a node has a grace period."""
    if kind != PODS:
        return 0
    spec = obj.get("spec")
    status = obj.get("status")
    if not isinstance(spec, dict) or not spec.get("nodeName"):
        return 0
    if isinstance(status, dict) and status.get("phase") in {"Succeeded", "Failed"}:
        return 0
    seconds = spec.get("terminationGracePeriodSeconds") if requested is None else requested
    if not isinstance(seconds, int):
        return DEFAULT_GRACE_SECONDS
    return min(max(seconds, 0), LONGEST_GRACE_SECONDS)


def is_held(kind: Kind, obj: JsonObject) -> bool:
    """Whether something must still let go of an object that is being deleted."""
    metadata = metadata_of(obj)
    if finalizers_of(metadata) or metadata.get("deletionGracePeriodSeconds"):
        return True
    spec = obj.get("spec")
    return kind == NAMESPACES and isinstance(spec, dict) and bool(spec.get("finalizers"))


def mark_deleted(kind: Kind, obj: JsonObject, deletion: Deletion) -> None:
    """Note the deletion in the object; whether it goes at once says `is_held`.

    A second delete may shorten a pod's grace period, never lengthen it.
    """
    metadata = metadata_of(obj)
    grace = grace_seconds(kind, obj, deletion.grace_period_seconds)
    finalizers = finalizers_of(metadata)
    extra = {
        Propagation.ORPHAN: ORPHAN_FINALIZER,
        Propagation.FOREGROUND: FOREGROUND_FINALIZER,
        Propagation.BACKGROUND: None,
    }[deletion.propagation]
    if extra is not None and extra not in finalizers:
        metadata["finalizers"] = [*finalizers, extra]
    running = metadata.get("deletionGracePeriodSeconds")
    is_first = "deletionTimestamp" not in metadata
    if is_first or (isinstance(running, int) and grace < running):
        metadata["deletionTimestamp"] = timestamp(now() + timedelta(seconds=grace))
        if kind != NAMESPACES:
            metadata["deletionGracePeriodSeconds"] = grace
    if is_first:
        count_generation(obj)
    if kind == NAMESPACES:
        obj["status"] = {"phase": "Terminating"}
