"""Tell people which objects are not mirrored as they are; a log alone nobody reads.

Notes are few and short-lived: an object's note goes with the next version that needs none,
or with the object.
"""

from collections.abc import Collection, Mapping
from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import Final

from dra_console.kube.kinds import Kind
from dra_console.mirror.models import Cluster, FoundBy, ObjectProblem
from dra_console.sync.objects import ObjectKey

MESSAGE_LENGTH: Final = 1000
MANY_NAMES: Final = 50
"""From here on it is cheaper to read all notes, which are few, than to name so many objects."""

_NAMESPACE_LENGTH: Final = 63
_NAME_LENGTH: Final = 253


def note(
    cluster: Cluster, *, kind: Kind, messages: Mapping[ObjectKey, str], seen_at: datetime
) -> None:
    """Say what is wrong with these objects, in place of what was said before."""
    rows = {
        (problem.namespace, problem.name): problem
        for key, message in messages.items()
        for problem in (_problem(cluster, kind, key, message, seen_at=seen_at),)
    }
    ObjectProblem.objects.bulk_create(
        rows.values(),
        update_conflicts=True,
        unique_fields=("cluster", "found_by", "plural", "namespace", "name"),
        update_fields=("path", "message", "seen_at"),
    )


def forget(cluster: Cluster, *, kind: Kind, keys: Collection[ObjectKey]) -> None:
    """Withdraw what was said of these objects."""
    said = ObjectProblem.objects.filter(
        cluster=cluster, found_by=FoundBy.MIRROR, plural=kind.plural
    )
    if len(keys) < MANY_NAMES:
        said = said.filter(name__in={key.name for key in keys})
    stale = [
        pk
        for pk, namespace, name in said.values_list("pk", "namespace", "name")
        if ObjectKey(namespace, name) in keys
    ]
    if stale:
        ObjectProblem.objects.filter(pk__in=stale).delete()


def forget_all_but(cluster: Cluster, *, kind: Kind, listed: AbstractSet[ObjectKey]) -> None:
    """Withdraw what was said of objects that a full list did not hold."""
    said = ObjectProblem.objects.filter(
        cluster=cluster, found_by=FoundBy.MIRROR, plural=kind.plural
    )
    keys = {ObjectKey(namespace, name) for namespace, name in said.values_list("namespace", "name")}
    forget(cluster, kind=kind, keys=keys - listed)


def _problem(
    cluster: Cluster, kind: Kind, key: ObjectKey, message: str, *, seen_at: datetime
) -> ObjectProblem:
    return ObjectProblem(
        cluster=cluster,
        found_by=FoundBy.MIRROR,
        plural=kind.plural,
        namespace=_kept(key.namespace)[:_NAMESPACE_LENGTH],
        name=_kept(key.name)[:_NAME_LENGTH],
        path="",
        message=_kept(message)[:MESSAGE_LENGTH],
        seen_at=seen_at,
    )


def _kept(text: str) -> str:
    """Return what every database takes of a text."""
    return text.encode(errors="replace").decode().replace("\0", "\ufffd")
