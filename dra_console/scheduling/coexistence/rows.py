"""Rows of the mirror as detection knows them: those kinds that are few, or small in columns."""

from collections.abc import Iterator
from typing import Final, TypeAlias

from django.db.models import QuerySet

from dra_console.allocator.decoding.decode import decode_class, decode_taint_rule
from dra_console.allocator.errors import DecodeError
from dra_console.allocator.model import DeviceClass, DeviceTaintRule
from dra_console.kube.kinds import (
    DEVICE_CLASSES,
    DEVICE_TAINT_RULES,
    NODES,
    PODS,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    Kind,
)
from dra_console.mirror import models as mirror
from dra_console.mirror.raw_objects import parsed_raw, raw_text
from dra_console.scheduling.coexistence.facts import HeldClaim, PodFacts
from dra_console.scheduling.coexistence.reading import held_claim

Mark: TypeAlias = tuple[object, ...]
"""How far a kind has been followed; another one means that its rows may have changed."""

LOOKED_AT: Final = (
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    DEVICE_CLASSES,
    DEVICE_TAINT_RULES,
    PODS,
    NODES,
)
UNKNOWN: Final[Mark] = ("not mirrored",)


def marks_of(cluster: mirror.Cluster) -> dict[Kind, Mark]:
    """Tell how far each kind has been followed; its rows change in the same transaction."""
    rows = mirror.Cursor.objects.filter(cluster=cluster, listed_at__isnull=False, served=True)
    found: dict[str, Mark] = {
        plural: tuple(mark)
        for plural, *mark in rows.values_list(
            "plural", "resource_version", "last_event_at", "listed_at", "relists"
        )
    }
    return {kind: found.get(kind.plural, UNKNOWN) for kind in LOOKED_AT}


def claims_of(rows: QuerySet[mirror.ResourceClaim]) -> Iterator[tuple[str, str, HeldClaim]]:
    """Read claims that have devices or end, each with its UID and version; no other column."""
    columns = ("uid", "resource_version", "node_name", "allocated_at", "deletion_requested_at")
    selected = rows.values_list(*columns, raw_text())
    for uid, version, node_name, allocated_at, ends_at, text in selected:
        claim = held_claim(
            parsed_raw(text),
            node_name=node_name,
            allocated_at=allocated_at,
            deletion_requested_at=ends_at,
        )
        yield uid, version, claim


def classes_of(cluster: mirror.Cluster) -> dict[str, tuple[str, DeviceClass]]:
    """Read all classes, with their versions, by name."""
    found: dict[str, tuple[str, DeviceClass]] = {}
    for row in mirror.DeviceClass.objects.filter(cluster=cluster):
        try:
            found[row.name] = (row.resource_version, decode_class(row.raw))
        except DecodeError:
            # Claims are not judged by a class that nobody can read.
            found[row.name] = (row.resource_version, DeviceClass(row.name))
    return found


def rules_of(cluster: mirror.Cluster) -> list[DeviceTaintRule]:
    """Read all rules; one that cannot be read is told where objects with problems are."""
    rules = []
    for row in mirror.DeviceTaintRule.objects.filter(cluster=cluster):
        try:
            rules.append(decode_taint_rule(row.raw))
        except DecodeError:
            continue
    return rules


def pods_of(cluster: mirror.Cluster) -> dict[tuple[str, str], PodFacts]:
    """Read the pods that name claims, by namespace and name."""
    rows = mirror.Pod.objects.filter(cluster=cluster).order_by()
    columns = ("namespace", "name", "uid", "phase", "node_name", "scheduler_name")
    return {
        (namespace, name): PodFacts(uid, phase, node_name, scheduler, deleted_at is not None)
        for namespace, name, uid, phase, node_name, scheduler, deleted_at in rows.values_list(
            *columns, "deletion_requested_at"
        )
    }


def nodes_of(cluster: mirror.Cluster) -> dict[str, bool | None]:
    """Read whether each node is ready, by name; None: it does not say."""
    rows = mirror.Node.objects.filter(cluster=cluster).order_by()
    return dict(rows.values_list("name", "ready"))
