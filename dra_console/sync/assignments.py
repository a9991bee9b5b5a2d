"""Keep who holds which device, from when to when, in step with the claims' allocations."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Final, NamedTuple

from dra_console.allocator.model import JsonObject
from dra_console.mirror.models import Cluster, DeviceAssignment, ResourceClaim
from dra_console.sync import bulk
from dra_console.sync.changes import RowChange
from dra_console.sync.reading import flag_in, label_in, object_in, objects_in, pool_in, text_in

LONGEST_REQUEST: Final = 127
LONGEST_SHARE_ID: Final = 36
"""As the API has them; what is longer is cut."""


class Held(NamedTuple):
    """Identity of an assignment while it is open, within its claim."""

    request: str
    driver: str
    pool: str
    device: str
    share_id: str


def held_by(allocation: JsonObject | None) -> dict[Held, JsonObject]:
    """Return what an allocation holds, with the result that says so.

    A result without the name of a device holds none.
    """
    held = {
        Held(
            text_in(result, "request")[:LONGEST_REQUEST],
            label_in(result, "driver"),
            pool_in(result, "pool"),
            label_in(result, "device"),
            text_in(result, "shareID")[:LONGEST_SHARE_ID],
        ): result
        for result in objects_in(allocation, "devices", "results")
    }
    return {one: result for one, result in held.items() if one.driver and one.pool and one.device}


def follow_allocations(
    cluster: Cluster, *, changes: list[RowChange[ResourceClaim]], seen_at: datetime
) -> bool:
    """Open and close assignments; tell whether any was.

    A claim that vanished holds nothing. An assignment is closed at `seen_at`, when its end
    was seen; it is opened at the time that the allocation states, if it states one.
    """
    touched = [
        change
        for change in changes
        if (change.before and change.before.allocation)
        or (change.after and change.after.allocation)
    ]
    if not touched:
        return False
    open_now = _open_now(cluster, claim_uids={each.before.uid for each in touched if each.before})
    released: list[int] = []
    opened: list[bulk.Values] = []
    for change in touched:
        claim = change.after or change.before
        if claim is None:
            continue
        wanted = held_by(change.after.allocation) if change.after else {}
        was_open = open_now.get(claim.uid, {})
        released += [pk for held, pk in was_open.items() if held not in wanted]
        opened += [
            _assignment(claim, held, result, seen_at=seen_at)
            for held, result in wanted.items()
            if held not in was_open
        ]
    if released:
        DeviceAssignment.objects.filter(pk__in=released).update(released_at=seen_at)
    bulk.write_values(DeviceAssignment, opened)
    return bool(released or opened)


def _open_now(cluster: Cluster, *, claim_uids: Collection[str]) -> Mapping[str, Mapping[Held, int]]:
    """Read the open assignments of claims, with their primary keys."""
    found: dict[str, dict[Held, int]] = defaultdict(dict)
    if claim_uids:
        rows = DeviceAssignment.objects.filter(
            cluster=cluster, claim_uid__in=claim_uids, released_at=None
        )
        for pk, claim_uid, *held in rows.order_by().values_list("pk", "claim_uid", *Held._fields):
            found[claim_uid][Held(*held)] = pk
    return found


def _assignment(
    claim: ResourceClaim, held: Held, result: JsonObject, *, seen_at: datetime
) -> bulk.Values:
    return (
        *(claim.cluster_id, claim.uid, claim.namespace, claim.name),
        *held,
        flag_in(result, "adminAccess"),
        object_in(result, "consumedCapacity"),
        claim.allocated_at or seen_at,
        None,
    )
