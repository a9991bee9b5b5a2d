"""Compare what is derived from mirrored rows with the rows that it is derived from.

Everything is derived once more from nothing and compared column by column. So it is seen
whichever way a derived row went wrong: left over, forgotten, changed, or of another cluster.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import groupby
from typing import Final

from dra_console.allocator.model import JsonObject
from dra_console.mirror.models import (
    Cluster,
    Device,
    DeviceAssignment,
    Pod,
    Pool,
    ResourceClaim,
    ResourceSlice,
)
from dra_console.sync.assignments import Held, held_by
from dra_console.sync.claims import template_name
from dra_console.sync.columns import pod_owner_of
from dra_console.sync.comparison import Difference, row_differences
from dra_console.sync.devices import DeviceRow
from dra_console.sync.objects import metadata_of
from dra_console.sync.pod_uses import rows_of_all, use_row
from dra_console.sync.pools import DEVICE_COLUMNS, POOL_COLUMNS, Folded, fold
from dra_console.sync.reading import flag_in, object_in, text_in, time_in

ASSIGNMENT_COLUMNS: Final = (
    "claim_namespace",
    "claim_name",
    "admin_access",
    "consumed_capacity",
)


def pool_differences(cluster: Cluster) -> Iterator[tuple[Difference, str]]:
    """Compare pools and devices with the mirrored slices, folded once more."""
    folded = _folded(cluster)
    devices = Device.objects.filter(cluster=cluster).select_related("slice")
    yield from row_differences(
        "pool",
        wanted={str(each.pool): each.pool for each in folded},
        stored={str(row): row for row in Pool.objects.filter(cluster=cluster)},
        columns=POOL_COLUMNS,
        true_of="published",
    )
    yield from row_differences(
        "device",
        wanted={_device_name(row): row for each in folded for row in each.devices},
        stored={_device_name(row): row for row in devices},
        columns=DEVICE_COLUMNS,
        true_of="published",
    )
    strangers = Device.objects.filter(slice__cluster=cluster).exclude(cluster=cluster)
    for row in strangers.select_related("slice"):
        yield Difference(f"device {_device_name(row)}", f"of cluster {row.cluster_id}"), "published"


def assignment_differences(cluster: Cluster) -> Iterator[tuple[Difference, str]]:
    """Compare who holds which device now with the mirrored claims' allocations."""
    claims = ResourceClaim.objects.filter(cluster=cluster)
    open_now = DeviceAssignment.objects.filter(cluster=cluster, released_at=None)
    yield from row_differences(
        "assignment of",
        wanted={
            _holder(held, claim_uid=claim.uid): _assignment(claim, held, result)
            for claim in claims
            for held, result in held_by(claim.allocation).items()
        },
        stored={_holder(_held(row), claim_uid=row.claim_uid): row for row in open_now},
        columns=ASSIGNMENT_COLUMNS,
        true_of="allocated",
    )


def claim_differences(cluster: Cluster) -> Iterator[tuple[Difference, str]]:
    """Compare the claims' columns that depend on the past or on other rows.

    A template stays known when its pod is gone, so it is compared only while the pod is there.
    """
    pods = {pod.uid: pod for pod in Pod.objects.filter(cluster=cluster)}
    for claim in ResourceClaim.objects.filter(cluster=cluster):
        subject = f"resourceclaims {claim}"
        pod = pods.get(text_in(pod_owner_of(claim.raw), "uid"))
        template = template_name(claim, pod)
        if template and claim.template_name != template:
            yield Difference(subject, f"template_name {claim.template_name!r}"), repr(template)
        stated = time_in(claim.allocation, "allocationTimestamp")
        if not _is_allocated_at(claim.allocation, claim.allocated_at, stated=stated):
            yield Difference(subject, f"allocated_at {claim.allocated_at}"), str(stated)


def use_differences(
    cluster: Cluster, pods: Iterable[JsonObject]
) -> Iterator[tuple[Difference, str]]:
    """Compare what each pod takes of its node with the pods that are there."""
    wanted = {
        metadata.key: use_row(cluster, metadata, pod)
        for pod in pods
        for metadata in (metadata_of(pod),)
    }
    stored = rows_of_all(cluster)
    for key in sorted(wanted.keys() | stored.keys()):
        row, there = stored.get(key), wanted.get(key)
        if row != there:
            subject = f"use of pods {'/'.join(key)}"
            yield Difference(subject, str(row and row[4:])), str(there and there[4:])


def _folded(cluster: Cluster) -> list[Folded]:
    slices = sorted(
        ResourceSlice.objects.filter(cluster=cluster).exclude(driver="").exclude(pool=""),
        key=lambda row: (row.driver, row.pool, row.name),
    )
    return [
        fold(list(group)) for _, group in groupby(slices, key=lambda row: (row.driver, row.pool))
    ]


def _device_name(row: Device | DeviceRow) -> str:
    return f"{row} of slice {row.slice.name}"


def _held(row: DeviceAssignment) -> Held:
    return Held(row.request, row.driver, row.pool, row.device, row.share_id)


def _holder(held: Held, *, claim_uid: str) -> str:
    share = f" share {held.share_id}" if held.share_id else ""
    device = f"{held.driver}/{held.pool}/{held.device}{share}"
    return f"{device} by request {held.request} of claim {claim_uid}"


def _assignment(claim: ResourceClaim, held: Held, result: JsonObject) -> DeviceAssignment:
    return DeviceAssignment(
        cluster_id=claim.cluster_id,
        claim_uid=claim.uid,
        claim_namespace=claim.namespace,
        claim_name=claim.name,
        **held._asdict(),
        admin_access=flag_in(result, "adminAccess"),
        consumed_capacity=object_in(result, "consumedCapacity"),
    )


def _is_allocated_at(
    allocation: JsonObject | None, allocated_at: datetime | None, *, stated: datetime | None
) -> bool:
    if allocation is None:
        return allocated_at is None
    return allocated_at is not None and stated in {None, allocated_at}
