"""Write down who did what: every write to a cluster, dry runs and refusals included.

Entries hold what changed, as JSON pointers with the value before and after. Opaque driver
parameters may carry secrets or commands (KEP-4381), so they are replaced before they are stored.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus

from django.contrib.auth.models import AbstractBaseUser

from dra_console.access.models import AuditEntry, Outcome, Profile
from dra_console.allocator.model import Json, JsonObject
from dra_console.kube.errors import ApiError
from dra_console.kube.kinds import Kind
from dra_console.mirror.models import Cluster

REDACTED = "(not recorded)"

_NOISE = frozenset({"managedFields", "resourceVersion", "uid", "creationTimestamp", "generation"})
"""Members of `metadata` that the server sets on each write and nobody asked for."""

_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
"""Annotation in which kubectl repeats the whole object as text, opaque parameters included."""


@dataclass(frozen=True, slots=True)
class Write:
    """What somebody is about to do to one object."""

    cluster: Cluster
    verb: str
    """As the API server calls it: `create`, `update`, `patch` or `delete`."""

    kind: Kind
    namespace: str
    """Empty for kinds without namespace."""

    name: str
    """With generateName: that text."""

    dry_run: bool = False


@dataclass(slots=True)
class Effect:
    """The object before and after; the writer fills in what it learns."""

    before: JsonObject | None = None
    after: JsonObject | None = None


def record(  # noqa: PLR0913 - the columns of an entry; a parameter object would only rename them
    user: AbstractBaseUser,
    write: Write,
    *,
    outcome: Outcome,
    detail: str = "",
    before: JsonObject | None = None,
    after: JsonObject | None = None,
) -> AuditEntry:
    """Store one entry; `before` and `after` are whole objects, None where there was or is none."""
    profile = Profile.of(user)
    return AuditEntry.objects.create(
        user_id=user.pk,
        username=user.get_username(),
        kubernetes_username=profile.kubernetes_username if profile else "",
        cluster_name=write.cluster.name,
        verb=write.verb,
        plural=write.kind.plural,
        namespace=write.namespace,
        name=_name_of(after) or write.name,
        dry_run=write.dry_run,
        outcome=outcome,
        detail=detail,
        diff=difference(before, after),
    )


@contextmanager
def audited(user: AbstractBaseUser, write: Write) -> Iterator[Effect]:
    """Record what the block does, whether it succeeds or raises an `ApiError` (raised again).

    ```python
    with audited(user, Write(cluster, "create", RESOURCE_CLAIMS, namespace, name)) as effect:
        effect.after = client.create(RESOURCE_CLAIMS, claim, namespace=namespace)
    ```
    """
    effect = Effect()
    try:
        yield effect
    except ApiError as error:
        refused = HTTPStatus.BAD_REQUEST <= error.status < HTTPStatus.INTERNAL_SERVER_ERROR
        record(
            user,
            write,
            outcome=Outcome.REFUSED if refused else Outcome.FAILED,
            detail=error.message,
        )
        raise
    record(user, write, outcome=Outcome.DONE, before=effect.before, after=effect.after)


def difference(before: JsonObject | None, after: JsonObject | None) -> list[JsonObject]:
    """List what differs: `{"path": JSON pointer, "before"?: value, "after"?: value}`.

    Objects are compared member by member, lists as a whole. A missing side has no member,
    so a created object is one entry with path "" and `after`.
    """
    return list(_changes("", _cleaned(before), _cleaned(after)))


def _changes(path: str, before: Json, after: Json) -> Iterator[JsonObject]:
    if before == after:
        return
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted(before.keys() | after.keys()):
            escaped = key.replace("~", "~0").replace("/", "~1")
            yield from _changes(f"{path}/{escaped}", before.get(key), after.get(key))
        return
    change: JsonObject = {"path": path}
    if before is not None:
        change["before"] = before
    if after is not None:
        change["after"] = after
    yield change


def _cleaned(value: Json) -> Json:
    if isinstance(value, list):
        return [_cleaned(item) for item in value]
    if not isinstance(value, dict):
        return value
    cleaned: JsonObject = {}
    for key, member in value.items():
        if key == _APPLIED or (key == "parameters" and "driver" in value):
            cleaned[key] = REDACTED
        elif key == "metadata" and isinstance(member, dict):
            cleaned[key] = {
                name: _cleaned(part) for name, part in member.items() if name not in _NOISE
            }
        else:
            cleaned[key] = _cleaned(member)
    return cleaned


def _name_of(manifest: JsonObject | None) -> str:
    metadata = manifest.get("metadata") if manifest else None
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return name if isinstance(name, str) else ""
