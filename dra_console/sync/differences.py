"""Compare mirror and API server object by object; an operator's and the tests' check.

A row is right when it says what it would say if its object were seen for the first time
now, in every column; derived rows are right when deriving them once more makes the same.

A mirror that is being written lags by a moment, so one comparison proves nothing. A
difference counts when it stays over several looks while the mirror's side of it does not
move: then it is not a lag.
"""

import time
from collections.abc import Iterator, Mapping
from typing import Final

from django.utils import timezone

from dra_console.allocator.model import JsonObject
from dra_console.kube.client import Client
from dra_console.kube.kinds import NAMESPACES, PODS, RESOURCE_CLAIMS, RESOURCE_SLICES
from dra_console.mirror.models import Cluster
from dra_console.mirror.models.cluster import MirroredObject
from dra_console.sync.comparison import Difference, column_difference, first_difference
from dra_console.sync.derived_differences import (
    assignment_differences,
    claim_differences,
    pool_differences,
    use_differences,
)
from dra_console.sync.identity import identity_of
from dra_console.sync.mirrored import Mirrored
from dra_console.sync.object_rows import row_of
from dra_console.sync.objects import ObjectKey, metadata_of

LOOKS: Final = 6
PAUSE_SECONDS: Final = 1.0

OTHERWISE_COMPARED: Final = frozenset({"id", "cluster", "raw", "allocated_at", "template_name"})
"""Columns that say nothing of the object, or more than it; the latter are `claim_differences`."""


def lasting_differences(
    cluster: Cluster, *, mirrored: Mirrored, client: Client
) -> Mapping[Difference, str]:
    """Return the differences that are no lag, each with what the API server says instead.

    Raises:
        ApiError: the API server could not be asked.

    """
    found = dict(_differences(cluster, mirrored=mirrored, client=client))
    for _ in range(LOOKS - 1):
        if not found:
            break
        time.sleep(PAUSE_SECONDS)
        again = dict(_differences(cluster, mirrored=mirrored, client=client))
        found = {difference: again[difference] for difference in found if difference in again}
    return found


def _differences(
    cluster: Cluster, *, mirrored: Mirrored, client: Client
) -> Iterator[tuple[Difference, str]]:
    items = client.list(mirrored.kind).items
    objects = {
        metadata_of(subject).key: subject for subject in items if mirrored.concerns_us(subject)
    }
    rows = {ObjectKey(row.namespace, row.name): row for row in mirrored.rows(cluster)}
    for key in sorted(objects.keys() | rows.keys()):
        row, there = rows.get(key), objects.get(key)
        has, wants = _difference(cluster, mirrored, row=row, there=there)
        if has:
            yield Difference(f"{mirrored.kind.plural} {'/'.join(filter(None, key))}", has), wants
    if mirrored.kind == PODS:
        yield from use_differences(cluster, items)
    if mirrored.kind == NAMESPACES:
        yield from _identity_differences(cluster, client=client)
    if mirrored.kind == RESOURCE_CLAIMS:
        yield from claim_differences(cluster)
        yield from assignment_differences(cluster)
    if mirrored.kind == RESOURCE_SLICES:
        yield from pool_differences(cluster)


def _difference(
    cluster: Cluster,
    mirrored: Mirrored,
    *,
    row: MirroredObject | None,
    there: JsonObject | None,
) -> tuple[str, str]:
    """Return what the mirror has and what it should have; two blanks if that is the same."""
    if row is None:
        return ("missing", f"version {metadata_of(there).resource_version}") if there else ("", "")
    if there is None:
        return row.resource_version, "not there"
    metadata = metadata_of(there)
    version = f"version {metadata.resource_version}"
    wanted = row_of(cluster, mirrored, metadata, there, seen_at=timezone.now())
    if field := first_difference(row.raw, wanted.raw):
        return row.resource_version, f"{version}, {field} differs"
    columns = [field.name for field in row._meta.fields if field.name not in OTHERWISE_COMPARED]  # noqa: SLF001 - Django's documented name
    has, wants = column_difference(row, wanted, columns=columns)
    return (f"{has} at {version}", wants) if has else ("", "")


def _identity_differences(cluster: Cluster, *, client: Client) -> Iterator[tuple[Difference, str]]:
    answering, known = identity_of(client), Cluster.objects.get(pk=cluster.pk).kube_system_uid
    if answering not in {"", known}:
        yield Difference("cluster identity", known), answering
