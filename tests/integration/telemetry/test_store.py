import asyncio
from datetime import UTC, datetime, timedelta

import pytest
import redis.asyncio
from django.utils import timezone

from dra_console.mirror.models import Cluster, DeviceAssignment
from dra_console.telemetry import record, records, store
from dra_console.telemetry.connections import close_redis_for_consumers, redis_for_consumers
from dra_console.telemetry.held_and_used import record_held_and_used
from dra_console.telemetry.messages import Hello, Sample, decode_frame
from dra_console.telemetry.readings import DeviceKey, HeldAndUsed
from dra_console.telemetry.record import AgentConnection
from dra_console.telemetry.states import NodeKey, node_states
from dra_console.telemetry.tasks import record_held_and_used_devices
from tests.builders.frames import a_device_sample, a_hello, a_sample, as_text

NOW = datetime(2026, 11, 29, 20, tzinfo=UTC)
CLUSTER_ID = 7


def a_connection(node_name: str = "gpu-01", *, cluster_id: int = CLUSTER_ID) -> AgentConnection:
    hello = decode_frame(as_text(a_hello(node_name)))
    assert isinstance(hello, Hello)
    return AgentConnection(
        cluster_id=cluster_id,
        hello=hello,
        connected_at=NOW,
        connection_id=f"connection-of-{node_name}",
    )


def sample_of(utilisation_percent: int | None) -> Sample:
    devices = a_device_sample(utilisation_percent=utilisation_percent)
    frame = decode_frame(as_text(a_sample(1, devices)))
    assert isinstance(frame, Sample)
    return frame


async def tell(
    client: redis.asyncio.Redis,
    node_name: str,
    utilisation_percent: int | None,
    *,
    at: datetime = NOW,
    cluster_id: int = CLUSTER_ID,
) -> None:
    connection = a_connection(node_name, cluster_id=cluster_id)
    await record.record_hello(client, connection, received_at=at)
    await record.record_sample(
        client, connection, sample=sample_of(utilisation_percent), received_at=at
    )


async def tell_and_close(
    node_name: str, utilisation_percent: int | None, *, cluster_id: int
) -> None:
    await tell(redis_for_consumers(), node_name, utilisation_percent, cluster_id=cluster_id)
    await close_redis_for_consumers()


def device_of(node_name: str) -> DeviceKey:
    return DeviceKey("gpu.nvidia.com", node_name, "gpu-0")


async def test_latest_readings_are_of_all_nodes_or_of_those_that_are_named(
    client: redis.asyncio.Redis,
) -> None:
    await tell(client, "gpu-01", 10)
    await tell(client, "gpu-02", 20)
    await tell(client, "gpu-03", 30, cluster_id=CLUSTER_ID + 1)

    assert store.latest(CLUSTER_ID).keys() == {device_of("gpu-01"), device_of("gpu-02")}
    assert store.latest(CLUSTER_ID, ["gpu-02", "gpu-09"]).keys() == {device_of("gpu-02")}
    assert store.latest(CLUSTER_ID, []) == {}


async def test_details_are_kept_while_samples_without_any_come(
    client: redis.asyncio.Redis,
) -> None:
    connection = a_connection()
    told = decode_frame(as_text(a_sample(1, a_device_sample(details={"fan_percent": 30}))))
    assert isinstance(told, Sample)
    await record.record_hello(client, connection, received_at=NOW)
    await record.record_sample(client, connection, sample=told, received_at=NOW)
    for second in range(1, 10):
        at = NOW + timedelta(seconds=second)
        await record.record_sample(client, connection, sample=sample_of(3), received_at=at)

    details = store.details(CLUSTER_ID, "gpu-01", device_of("gpu-01"))

    assert details is not None
    assert (details.details.fan_percent, details.received_at) == (30, NOW)
    assert not details.is_stale(NOW + timedelta(seconds=30))
    assert details.is_stale(NOW + timedelta(seconds=31))
    assert store.details(CLUSTER_ID, "gpu-01", DeviceKey("other", "gpu-01", "gpu-0")) is None
    assert store.details(CLUSTER_ID, "gpu-02", device_of("gpu-02")) is None


async def test_node_that_was_silent_for_a_day_is_forgotten_when_another_agent_comes(
    client: redis.asyncio.Redis,
) -> None:
    await tell(client, "gpu-01", 10, at=NOW - timedelta(hours=25))
    await tell(client, "gpu-02", 20, at=NOW)

    assert store.latest(CLUSTER_ID).keys() == {device_of("gpu-02")}
    assert store.agents(CLUSTER_ID).keys() == {"gpu-02"}


async def test_agent_is_stale_after_fifteen_silent_seconds(client: redis.asyncio.Redis) -> None:
    await tell(client, "gpu-01", 10)
    status = store.agents(CLUSTER_ID)["gpu-01"]

    assert not status.is_stale(NOW + timedelta(seconds=15))
    assert status.is_stale(NOW + timedelta(seconds=16))


async def test_history_keeps_fifteen_minutes_and_tells_unknown_from_idle(
    client: redis.asyncio.Redis,
) -> None:
    for step in range(records.HISTORY_POINTS + 5):
        await record.record_history(
            client,
            a_connection(),
            sample=sample_of(None if step % 2 else 0),
            received_at=NOW + timedelta(seconds=5 * step),
        )
    history = store.history(CLUSTER_ID, device_of("gpu-01"))

    assert len(history) == records.HISTORY_POINTS
    assert history[-1] == (NOW + timedelta(seconds=5 * 184), 0)
    assert history[-2] == (NOW + timedelta(seconds=5 * 183), None)


async def test_history_of_a_device_that_was_never_sampled_is_empty() -> None:
    assert store.history(CLUSTER_ID, device_of("gpu-01")) == []


async def test_states_of_many_nodes_of_several_clusters_come_in_one_answer(
    client: redis.asyncio.Redis,
) -> None:
    await tell(client, "gpu-01", 10)
    await tell(client, "gpu-01", 20, cluster_id=CLUSTER_ID + 1)
    here, there, nowhere = (
        NodeKey(CLUSTER_ID, "gpu-01"),
        NodeKey(CLUSTER_ID + 1, "gpu-01"),
        NodeKey(CLUSTER_ID, "gpu-09"),
    )

    states = await node_states(client, [here, there, nowhere])

    percentages = {
        node: [device.utilisation_percent for device in state.latest.devices]
        for node, state in states.items()
        if state.latest
    }
    assert percentages == {here: [10], there: [20]}
    assert states[nowhere].last_seen_at is None
    assert states[here].last_seen_at == NOW


def hold(cluster: Cluster, device: DeviceKey, *, admin_access: bool = False) -> None:
    DeviceAssignment.objects.create(
        cluster=cluster,
        claim_uid=f"claim-of-{device}-{admin_access}",
        claim_namespace="team-research",
        claim_name="train",
        request="gpu",
        driver=device.driver,
        pool=device.pool,
        device=device.device,
        admin_access=admin_access,
        assigned_at=NOW,
    )


@pytest.mark.django_db
def test_line_of_held_and_used_devices_grows_by_one_point_an_interval() -> None:
    cluster = Cluster.objects.create(name="demo")
    hold(cluster, device_of("gpu-01"))
    asyncio.run(tell_and_close("gpu-01", 80, cluster_id=cluster.pk))
    record_held_and_used(cluster.pk, now=NOW)
    record_held_and_used(cluster.pk, now=NOW)

    assert store.held_and_used(cluster.pk) == [
        HeldAndUsed(at=NOW, held_devices=1, used_devices=0.8, unknown_devices=0)
    ]


@pytest.mark.django_db
def test_beat_s_task_adds_a_point_for_every_enabled_cluster() -> None:
    enabled = Cluster.objects.create(name="enabled")
    disabled = Cluster.objects.create(name="disabled", enabled=False)
    hold(enabled, device_of("gpu-01"))
    hold(enabled, device_of("gpu-02"), admin_access=True)
    record_held_and_used_devices()

    (point,) = store.held_and_used(enabled.pk)
    assert (point.held_devices, point.unknown_devices) == (1, 1)
    assert timezone.now() - point.at < timedelta(seconds=10)
    assert store.held_and_used(disabled.pk) == []
