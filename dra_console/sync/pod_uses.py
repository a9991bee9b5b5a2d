"""Keep what every pod takes of its node, also of pods that are not mirrored otherwise.

A scheduler has to know the cpu and memory that are left on a node, and most pods name no
claims. So each pod has a narrow row: its requests are added up once, when a version of it is
seen, and nothing else of it is kept. A pod whose requests cannot be read still takes a place.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple

import structlog
from django.db import transaction

from dra_console import events
from dra_console.allocator.errors import QuantityError
from dra_console.allocator.model import JsonObject
from dra_console.mirror.models import Cluster, PodUse
from dra_console.mirror.pod_requests import (
    CPU,
    EPHEMERAL_STORAGE,
    MEMORY,
    Amounts,
    is_finished,
    requests_of,
)
from dra_console.sync import bulk
from dra_console.sync.columns import is_pod_mirrored
from dra_console.sync.errors import NoIdentityError
from dra_console.sync.objects import UNSTORABLE, Metadata, ObjectKey, metadata_of
from dra_console.sync.reading import LONGEST_LABEL, LONGEST_NAME, name_in

GREATEST: Final = 2**63 - 1
LONGEST_VERSION: Final = 64
FEW_NAMES: Final = 500
NODES_TOLD: Final = 100
"""Of more nodes at once it is only said that there are many."""

log = structlog.get_logger()


class UseRow(NamedTuple):
    """Values of a row, in the order of the model's fields."""

    cluster_id: int
    uid: str
    namespace: str
    name: str
    resource_version: str
    node_name: str
    is_finished: bool
    is_mirrored: bool
    cpu_milli: int
    memory_bytes: int
    ephemeral_storage_bytes: int
    other_requests: Mapping[str, int] | None

    @property
    def key(self) -> ObjectKey:
        """What names the pod."""
        return ObjectKey(self.namespace, self.name)


FIELDS: Final = UseRow._fields
IDENTITY: Final = ("cluster", "namespace", "name")
REPLACED: Final = tuple(name for name in FIELDS if name not in {"cluster_id", "namespace", "name"})


def use_row(cluster: Cluster, metadata: Metadata, pod: JsonObject) -> UseRow:
    """Return the row of a pod."""
    try:
        amounts: Amounts = requests_of(pod)
    except (QuantityError, RecursionError) as error:
        log.warning("requests not counted", pod="/".join(metadata.key), error=str(error))
        amounts = {}
    counted = {CPU, MEMORY, EPHEMERAL_STORAGE}
    others = {
        UNSTORABLE.sub("\ufffd", name): min(amount, GREATEST)
        for name, amount in amounts.items()
        if name not in counted
    }
    return UseRow(
        cluster.pk,
        metadata.uid,
        metadata.key.namespace,
        metadata.key.name,
        metadata.resource_version,
        UNSTORABLE.sub("\ufffd", name_in(pod, "spec", "nodeName")),
        is_finished(pod),
        is_pod_mirrored(pod),
        min(amounts.get(CPU, 0), GREATEST),
        min(amounts.get(MEMORY, 0), GREATEST),
        min(amounts.get(EPHEMERAL_STORAGE, 0), GREATEST),
        others or None,
    )


def follow_uses(
    cluster: Cluster,
    *,
    pods: Iterable[JsonObject],
    gone: Iterable[ObjectKey],
    stored: AbstractSet[ObjectKey] | None,
) -> None:
    """Bring the rows in line with pods that are there and names that are free.

    Of several pods under one name the last counts. `stored` are the names that may have a row,
    `None` if that is not known. Scheduling is told if anything changed on a node.
    """
    absent = set(gone)
    wanted: dict[ObjectKey, UseRow] = {}
    for pod in pods:
        try:
            metadata = metadata_of(pod)
        except NoIdentityError:
            continue  # noted by `reconcile`, which sees the same pods
        if _fits(metadata):
            wanted[metadata.key] = use_row(cluster, metadata, pod)
            absent.discard(metadata.key)
    known = {*wanted, *absent}
    before = rows_of(cluster, known if stored is None else known & stored)
    changed = [row for key, row in wanted.items() if before.get(key) != row]
    bulk.write_values(PodUse, [row for row in changed if row.key not in before])
    bulk.write_values(
        PodUse,
        [row for row in changed if row.key in before],
        unique_fields=IDENTITY,
        update_fields=REPLACED,
    )
    lost = [before[key] for key in absent if key in before]
    remove(cluster, [row.key for row in lost])
    pairs = [*((before.get(row.key), row) for row in changed), *((row, None) for row in lost)]
    names = {
        row.node_name
        for pair in pairs
        if _load(pair[0]) != _load(pair[1])
        for row in pair
        if row is not None and row.node_name
    }
    if names:
        tell(cluster, names)


def sweep_uses(cluster: Cluster, *, listed: AbstractSet[ObjectKey]) -> None:
    """Remove the rows of pods that a full list did not hold."""
    names = PodUse.objects.filter(cluster=cluster).values_list("namespace", "name")
    lost = [key for key in map(ObjectKey._make, names.iterator()) if key not in listed]
    if lost:
        remove(cluster, lost)
        tell(cluster, None)


def rows_of(cluster: Cluster, keys: Collection[ObjectKey]) -> dict[ObjectKey, UseRow]:
    """Read the rows of these pods."""
    found: dict[ObjectKey, UseRow] = {}
    for some in _some_of(sorted(keys)):
        rows = PodUse.objects.filter(
            cluster=cluster,
            namespace__in={key.namespace for key in some},
            name__in={key.name for key in some},
        )
        for values in rows.values_list(*FIELDS):
            row = UseRow._make(values)
            found[row.key] = row
    return {key: found[key] for key in keys if key in found}


def rows_of_all(cluster: Cluster) -> dict[ObjectKey, UseRow]:
    """Read the rows of all pods."""
    rows = PodUse.objects.filter(cluster=cluster).values_list(*FIELDS)
    return {row.key: row for row in map(UseRow._make, rows.iterator())}


def remove(cluster: Cluster, keys: Collection[ObjectKey]) -> None:
    """Remove the rows of these pods."""
    for some in _some_of(sorted(keys)):
        wanted = set(some)
        rows = PodUse.objects.filter(
            cluster=cluster,
            namespace__in={key.namespace for key in some},
            name__in={key.name for key in some},
        )
        pks = [
            pk
            for pk, namespace, name in rows.values_list("pk", "namespace", "name")
            if ObjectKey(namespace, name) in wanted
        ]
        PodUse.objects.filter(pk__in=pks).delete()


def tell(cluster: Cluster, node_names: Collection[str] | None) -> None:
    """Say on commit that there is more or less room on these nodes, on many if it is `None`."""
    cluster_id = cluster.pk
    names = None if node_names is None or len(node_names) > NODES_TOLD else sorted(node_names)
    transaction.on_commit(
        lambda: events.room_changed.send_robust(
            sender=None, cluster_id=cluster_id, node_names=names
        )
    )


def _load(row: UseRow | None) -> tuple[object, ...]:
    """Return what a pod puts on a node; empty if it puts nothing on any."""
    return () if row is None or row.is_finished or not row.node_name else (row.uid, *row[5:])


def _fits(metadata: Metadata) -> bool:
    """Tell whether columns hold what names the pod; `reconcile` notes where they do not."""
    return (
        len(metadata.key.namespace) <= LONGEST_LABEL
        and len(metadata.key.name) <= LONGEST_NAME
        and len(metadata.uid) <= LONGEST_VERSION
        and len(metadata.resource_version) <= LONGEST_VERSION
        and not any(
            UNSTORABLE.search(text)
            for text in (*metadata.key, metadata.uid, metadata.resource_version)
        )
    )


def _some_of(keys: list[ObjectKey]) -> Iterator[list[ObjectKey]]:
    for start in range(0, len(keys), FEW_NAMES):
        yield keys[start : start + FEW_NAMES]
