"""Write what agents report, one round trip a frame.

A node has one owner: the connection that said `hello` last. Each write asks in the same
round trip who the owner is and says so in its answer; a connection that has been replaced
thus learns it with its next frame, in whichever process it lives and whether or not a
message got lost. Its last frame may still overwrite a newer one; the owner's next frame, a
second later, puts that right. A node without an owner means that Redis lost its memory:
whoever still speaks for the node says `hello` again on its agent's behalf.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, auto

from redis.asyncio import Redis

from dra_console.telemetry import records
from dra_console.telemetry.messages import Claims, Hello, PreparedClaimDevice, PreparedState, Sample
from dra_console.telemetry.records import Keys


class Owner(Enum):
    """Whose a node is, as the connection that asks sees it."""

    OURS = auto()
    ANOTHER = auto()
    NOBODY = auto()


@dataclass(frozen=True, slots=True)
class AgentConnection:
    """One agent's connection, from its `hello` on."""

    cluster_id: int
    hello: Hello
    connected_at: datetime
    connection_id: str
    """Distinct for every connection ever made."""

    @property
    def node_name(self) -> str:
        return self.hello.node

    @property
    def driver(self) -> str:
        return self.hello.driver

    @property
    def pool(self) -> str:
        return self.hello.pool


async def record_hello(
    client: Redis, connection: AgentConnection, *, received_at: datetime
) -> None:
    """Make this connection the node's owner, and forget nodes that were silent for a day."""
    keys, node_name = Keys(connection.cluster_id), connection.node_name
    hello = connection.hello
    agent = records.AgentRecord(
        version=hello.agent_version,
        source=hello.source,
        driver=hello.driver,
        pool=hello.pool,
        boot_id=hello.boot_id,
        connected_at=connection.connected_at,
    )
    now = received_at.timestamp()
    hashes = (keys.latest, keys.details, keys.agents, keys.owner)
    async with client.pipeline(transaction=True) as pipeline:
        pipeline.hset(keys.agents, node_name, records.encode(agent))
        pipeline.hset(keys.owner, node_name, connection.connection_id)
        pipeline.zadd(keys.seen, {node_name: now})
        pipeline.zrange(keys.seen, "-inf", now - records.KEPT_SECONDS, byscore=True)
        for key in (*hashes, keys.seen):
            pipeline.expire(key, records.KEPT_SECONDS)
        answers = await pipeline.execute()
    if silent := answers[3]:
        async with client.pipeline(transaction=True) as pipeline:
            for key in hashes:
                pipeline.hdel(key, *silent)
            pipeline.zrem(keys.seen, *silent)
            await pipeline.execute()


async def record_sample(
    client: Redis, connection: AgentConnection, *, sample: Sample, received_at: datetime
) -> Owner:
    """Make this the node's latest sample; tell whose the node is."""
    keys, node_name = Keys(connection.cluster_id), connection.node_name
    latest = records.LatestRecord(
        driver=connection.driver,
        pool=connection.pool,
        taken_at=sample.taken_at,
        received_at=received_at,
        devices=tuple(
            records.DeviceRecord(
                device=device.device,
                utilisation_percent=device.utilisation_percent,
                memory_used_bytes=device.memory_used_bytes,
                memory_total_bytes=device.memory_total_bytes,
                power_milliwatts=device.power_milliwatts,
                temperature_celsius=device.temperature_celsius,
                sm_clock_megahertz=device.sm_clock_megahertz,
                health=None if device.health is None else str(device.health),
            )
            for device in sample.devices
        ),
    )
    details = {
        device.device: device.details for device in sample.devices if device.details is not None
    }
    async with client.pipeline(transaction=False) as pipeline:
        pipeline.hset(keys.latest, node_name, records.encode(latest))
        if details:
            told = records.DetailsRecord(connection.driver, connection.pool, received_at, details)
            pipeline.hset(keys.details, node_name, records.encode(told))
        pipeline.zadd(keys.seen, {node_name: received_at.timestamp()})
        pipeline.hget(keys.owner, node_name)
        answers = await pipeline.execute()
    return _owner(connection, answers[-1])


async def record_history(
    client: Redis, connection: AgentConnection, *, sample: Sample, received_at: datetime
) -> None:
    """Add this sample to the pool's short history, and keep the node's keys from expiring."""
    keys = Keys(connection.cluster_id)
    point = records.HistoryRecord(
        at=received_at,
        utilisation_percent_by_device={
            device.device: device.utilisation_percent for device in sample.devices
        },
    )
    key = keys.history(driver=connection.driver, pool=connection.pool)
    window_seconds = records.HISTORY_POINTS * records.HISTORY_INTERVAL_SECONDS
    async with client.pipeline(transaction=True) as pipeline:
        pipeline.lpush(key, records.encode(point))
        pipeline.ltrim(key, 0, records.HISTORY_POINTS - 1)
        pipeline.expire(key, window_seconds)
        for kept in (keys.latest, keys.details, keys.agents, keys.seen, keys.owner):
            pipeline.expire(kept, records.KEPT_SECONDS)
        await pipeline.execute()


async def record_claims(
    client: Redis, connection: AgentConnection, *, claims: Claims, received_at: datetime
) -> frozenset[str] | None:
    """Make this the complete list of what the node has prepared.

    Gives the UIDs of the claims whose prepared devices on this node changed, or `None` if
    another connection owns the node; then nothing is written. Costs two round trips,
    since what the node no longer holds must be taken away.
    """
    keys, node_name = Keys(connection.cluster_id), connection.node_name
    claims_key = keys.claims(node_name)
    async with client.pipeline(transaction=False) as pipeline:
        pipeline.hget(keys.owner, node_name)
        pipeline.hgetall(claims_key)
        owner, stored = await pipeline.execute()
    if _owner(connection, owner) is Owner.ANOTHER:
        return None
    before: dict[str, bytes] = {uid.decode(): devices for uid, devices in stored.items()}
    after = {
        claim.uid: records.encode(_prepared(claim.devices, connection, at=claim.prepared_at))
        for claim in claims.claims
        if claim.state is PreparedState.PREPARED and claim.prepared_at is not None
    }
    gone = before.keys() - after.keys()
    async with client.pipeline(transaction=True) as pipeline:
        pipeline.delete(claims_key)
        for uid in gone:
            pipeline.hdel(keys.prepared(uid), node_name)
        for uid, devices in after.items():
            pipeline.hset(claims_key, uid, devices)
            pipeline.hset(keys.prepared(uid), node_name, devices)
            pipeline.expire(keys.prepared(uid), records.KEPT_SECONDS)
        pipeline.expire(claims_key, records.KEPT_SECONDS)
        pipeline.zadd(keys.seen, {node_name: received_at.timestamp()})
        await pipeline.execute()
    changed = {uid for uid, devices in after.items() if before.get(uid) != devices}
    return frozenset(changed | gone)


async def owner_of(client: Redis, connection: AgentConnection) -> Owner:
    """Tell whose the connection's node is."""
    owner = await client.hget(Keys(connection.cluster_id).owner, connection.node_name)
    return _owner(connection, owner)


def _owner(connection: AgentConnection, stored: bytes | str | None) -> Owner:
    if stored is None:
        return Owner.NOBODY
    return Owner.OURS if stored == connection.connection_id.encode() else Owner.ANOTHER


def _prepared(
    devices: Iterable[PreparedClaimDevice], connection: AgentConnection, *, at: datetime
) -> tuple[records.PreparedRecord, ...]:
    return tuple(
        records.PreparedRecord(
            driver=connection.driver,
            pool=device.pool,
            device=device.device,
            uuid=device.uuid,
            cdi_ids=device.cdi_ids,
            prepared_at=at,
        )
        for device in devices
    )
