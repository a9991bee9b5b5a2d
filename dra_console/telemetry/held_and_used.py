"""How many devices claims hold and how much of them is used, kept as a line for the overview.

A device shared by several claims counts once, a partition counts as the device that it is;
access for administration holds nothing. A held device without a fresh utilisation is
counted as unknown, not as idle: partitions, for instance, have none of their own.
"""

from collections.abc import Collection, Mapping
from datetime import datetime

from dra_console.mirror.models import DeviceAssignment
from dra_console.telemetry import records
from dra_console.telemetry.connections import redis_for_views
from dra_console.telemetry.readings import DeviceKey, HeldAndUsed, Reading
from dra_console.telemetry.records import Keys
from dra_console.telemetry.store import latest


def held_devices(cluster_id: int) -> frozenset[DeviceKey]:
    """Name the devices that a claim holds now."""
    rows = DeviceAssignment.objects.filter(
        cluster_id=cluster_id, released_at__isnull=True, admin_access=False
    ).values_list("driver", "pool", "device")
    return frozenset(DeviceKey(*row) for row in rows)


def held_and_used_now(
    held: Collection[DeviceKey], readings: Mapping[DeviceKey, Reading], *, now: datetime
) -> HeldAndUsed:
    """Add up the fresh utilisation of the held devices."""
    known = [
        reading.utilisation_percent
        for device in held
        if (reading := readings.get(device))
        and reading.utilisation_percent is not None
        and not reading.is_stale(now)
    ]
    return HeldAndUsed(
        at=now,
        held_devices=len(held),
        used_devices=sum(known) / 100,
        unknown_devices=len(held) - len(known),
    )


def record_held_and_used(cluster_id: int, *, now: datetime) -> None:
    """Add a point to the cluster's line, unless this interval has one already."""
    client, keys = redis_for_views(), Keys(cluster_id)
    # A little less than the interval, so that a beat that comes early is not skipped.
    turn_seconds = records.HELD_AND_USED_INTERVAL_SECONDS - 2
    if not client.set(keys.held_and_used_turn, 1, nx=True, ex=turn_seconds):
        return
    point = held_and_used_now(held_devices(cluster_id), latest(cluster_id), now=now)
    record = records.HeldAndUsedRecord(
        at=point.at,
        held_devices=point.held_devices,
        used_devices=point.used_devices,
        unknown_devices=point.unknown_devices,
    )
    with client.pipeline(transaction=True) as pipeline:
        pipeline.lpush(keys.held_and_used, records.encode(record))
        pipeline.ltrim(keys.held_and_used, 0, records.HELD_AND_USED_POINTS - 1)
        pipeline.expire(keys.held_and_used, records.KEPT_SECONDS)
        pipeline.execute()
