"""Read live GPU state: latest values, agents, prepared claims and the short histories.

Each function costs one round trip to Redis. What is not there was not reported, or not
within a day: it is absent from the answer, never zero.
"""

from collections.abc import Collection
from datetime import UTC, datetime

from dra_console.telemetry import records
from dra_console.telemetry.connections import redis_for_views
from dra_console.telemetry.details import ReportedDetails
from dra_console.telemetry.readings import (
    AgentStatus,
    DeviceKey,
    HeldAndUsed,
    PreparedDevice,
    Reading,
)
from dra_console.telemetry.records import Keys


def latest(cluster_id: int, node_names: Collection[str] | None = None) -> dict[DeviceKey, Reading]:
    """Give the latest readings of the devices on these nodes, or on every node.

    Stale ones included: ask `Reading.is_stale`.
    """
    client = redis_for_views()
    key = Keys(cluster_id).latest
    if node_names is None:
        stored = list(client.hgetall(key).values())
    elif node_names:
        stored = [value for value in client.hmget(key, list(node_names)) if value is not None]
    else:
        stored = []
    return {
        DeviceKey(sample.driver, sample.pool, device.device): reading_of(sample, device)
        for sample in map(records.latest_decoder.decode, stored)
        for device in sample.devices
    }


def reading_of(sample: records.LatestRecord, device: records.DeviceRecord) -> Reading:
    """Turn one device's record of a sample into the value that pages show."""
    return Reading(
        taken_at=sample.taken_at,
        received_at=sample.received_at,
        utilisation_percent=device.utilisation_percent,
        memory_used_bytes=device.memory_used_bytes,
        memory_total_bytes=device.memory_total_bytes,
        power_milliwatts=device.power_milliwatts,
        temperature_celsius=device.temperature_celsius,
        sm_clock_megahertz=device.sm_clock_megahertz,
        health=device.health,
    )


def details(cluster_id: int, node_name: str, device: DeviceKey) -> ReportedDetails | None:
    """Give what a node's agent said last of one device beyond its readings, however old."""
    stored = redis_for_views().hget(Keys(cluster_id).details, node_name)
    if stored is None:
        return None
    told = records.details_decoder.decode(stored)
    found = told.devices.get(device.device)
    if found is None or (told.driver, told.pool) != (device.driver, device.pool):
        return None
    return ReportedDetails(details=found, received_at=told.received_at)


def agents(cluster_id: int) -> dict[str, AgentStatus]:
    """Give each node's agent, by node name; nodes whose agent was silent for a day are absent."""
    with redis_for_views().pipeline(transaction=False) as pipeline:
        pipeline.hgetall(Keys(cluster_id).agents)
        pipeline.zrange(Keys(cluster_id).seen, 0, -1, withscores=True)
        stored, seen = pipeline.execute()
    seen_at = {node: datetime.fromtimestamp(score, UTC) for node, score in seen}
    return {
        node.decode(): _status(node.decode(), value, last_seen_at=seen_at[node])
        for node, value in stored.items()
        if node in seen_at
    }


def _status(node_name: str, stored: bytes, *, last_seen_at: datetime) -> AgentStatus:
    agent = records.agent_decoder.decode(stored)
    return AgentStatus(
        node_name=node_name,
        version=agent.version,
        source=agent.source,
        driver=agent.driver,
        pool=agent.pool,
        connected_at=agent.connected_at,
        last_seen_at=last_seen_at,
    )


def prepared(cluster_id: int, claim_uid: str) -> tuple[PreparedDevice, ...]:
    """Give the devices that nodes have prepared for this claim, in order of node and device."""
    stored = redis_for_views().hgetall(Keys(cluster_id).prepared(claim_uid))
    return tuple(
        PreparedDevice(
            node_name=node_name,
            driver=device.driver,
            pool=device.pool,
            device=device.device,
            uuid=device.uuid,
            cdi_ids=device.cdi_ids,
            prepared_at=device.prepared_at,
        )
        for node_name, devices in sorted(
            (_text(node), records.prepared_decoder.decode(value)) for node, value in stored.items()
        )
        for device in devices
    )


def history(cluster_id: int, device: DeviceKey) -> list[tuple[datetime, int | None]]:
    """Give a device's utilisation over the last 15 minutes, every 5 s, oldest first.

    A time without a percentage is one at which the agent spoke but did not report it; where
    times are missing, the agent was silent.
    """
    key = Keys(cluster_id).history(driver=device.driver, pool=device.pool)
    points = map(records.history_decoder.decode, redis_for_views().lrange(key, 0, -1))
    return [
        (point.at, point.utilisation_percent_by_device[device.device])
        for point in points
        if device.device in point.utilisation_percent_by_device
    ][::-1]


def held_and_used(cluster_id: int) -> list[HeldAndUsed]:
    """Give the last hour of held and used devices, every 15 s, oldest first."""
    stored = redis_for_views().lrange(Keys(cluster_id).held_and_used, 0, -1)
    return [
        HeldAndUsed(
            at=point.at,
            held_devices=point.held_devices,
            used_devices=point.used_devices,
            unknown_devices=point.unknown_devices,
        )
        for point in map(records.held_and_used_decoder.decode, reversed(stored))
    ]


def _text(stored: bytes | str) -> str:
    return stored.decode() if isinstance(stored, bytes) else stored
