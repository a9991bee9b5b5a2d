import asyncio
import contextlib
import json

import pytest
import redis
from channels.db import database_sync_to_async as in_database
from django.conf import settings
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import InvalidStatus

from dra_console.allocator.model import JsonObject
from dra_console.mirror.models import Cluster
from dra_console.telemetry import records, store
from dra_console.telemetry.messages import Source
from dra_console.telemetry.readings import DeviceKey
from tests.builders.frames import (
    a_device_sample,
    a_hello,
    a_node_claim,
    a_sample,
    as_text,
    claims_frame,
)
from tests.builders.reviews import Reviews, TokenOwner
from tests.integration.live.conftest import Console, closing_of, until

GPU_0 = DeviceKey("gpu.nvidia.com", "gpu-01", "gpu-0")


async def introduce(agent: ClientConnection) -> None:
    await agent.send(as_text(a_hello()))
    assert json.loads(await agent.recv()) == {
        "type": "welcome",
        "v": 1,
        "sample_interval_seconds": 1,
    }


async def test_sample_of_a_welcomed_agent_is_the_latest_reading(
    console: Console, cluster: Cluster
) -> None:
    async with console.agent() as agent:
        await introduce(agent)
        await agent.send(as_text(a_sample(1, a_device_sample(utilisation_percent=97))))
        latest = await until(lambda: store.latest(cluster.pk))

    assert latest[GPU_0].utilisation_percent == 97
    assert latest[GPU_0].memory_used_bytes is None
    status = store.agents(cluster.pk)["gpu-01"]
    assert (status.version, status.source) == ("0.1.0", Source.SIMULATED)


async def test_a_device_in_trouble_says_so_also_without_readings(
    console: Console, cluster: Cluster
) -> None:
    health: JsonObject = {"status": "unhealthy", "message": "the GPU has fallen off the bus"}
    async with console.agent() as agent:
        await introduce(agent)
        await agent.send(as_text(a_sample(1, a_device_sample(health=health))))
        latest = await until(lambda: store.latest(cluster.pk))

    assert latest[GPU_0].health == "unhealthy: the GPU has fallen off the bus"
    assert latest[GPU_0].utilisation_percent is None


async def test_samples_of_one_burst_make_one_point_of_history(
    console: Console, cluster: Cluster
) -> None:
    async with console.agent() as agent:
        await introduce(agent)
        for seq in (1, 2, 3):
            await agent.send(as_text(a_sample(seq, a_device_sample(utilisation_percent=seq))))
        await until(lambda: store.latest(cluster.pk).get(GPU_0, None) is not None)
        await until(lambda: store.latest(cluster.pk)[GPU_0].utilisation_percent == 3)

    assert [percent for _, percent in store.history(cluster.pk, GPU_0)] == [1]


async def test_prepared_claim_shows_its_cdi_id_until_the_node_holds_it_no_more(
    console: Console, cluster: Cluster
) -> None:
    async with console.agent() as agent:
        await introduce(agent)
        await agent.send(
            as_text(claims_frame(1, a_node_claim("c-1"), a_node_claim("c-2", "gpu-1")))
        )
        (device,) = await until(lambda: store.prepared(cluster.pk, "c-1"))
        await agent.send(as_text(claims_frame(2, a_node_claim("c-2", "gpu-1"))))
        await until(lambda: not store.prepared(cluster.pk, "c-1"))

    assert device.cdi_ids == ("k8s.gpu.nvidia.com/claim=c-1-gpu-0",)
    assert (device.node_name, device.driver) == ("gpu-01", "gpu.nvidia.com")
    assert store.prepared(cluster.pk, "c-2")


async def test_claim_that_is_being_prepared_is_not_prepared(
    console: Console, cluster: Cluster
) -> None:
    async with console.agent() as agent:
        await introduce(agent)
        await agent.send(
            as_text(
                claims_frame(
                    1, a_node_claim("c-1", state="preparing", prepared_at=None), a_node_claim("c-2")
                )
            )
        )
        await until(lambda: store.prepared(cluster.pk, "c-2"))

    assert store.prepared(cluster.pk, "c-1") == ()


@pytest.mark.parametrize(
    ("frames", "code", "reason"),
    [
        ([{"type": "bye"}], 4400, "type: invalid value 'bye'"),
        ([a_sample(1)], 4400, "type: expected hello first"),
        ([a_hello(), a_hello()], 4400, "type: expected one hello, got another"),
        ([a_hello(), a_sample(5), a_sample(5)], 4400, "seq: expected more than 5, got 5"),
        ([a_hello("gpu-02")], 4403, "node: the token is bound to gpu-01"),
        ([a_hello(), *map(a_sample, range(1, 90))], 4429, "over 10 frames a second"),
    ],
)
async def test_agent_that_breaks_the_wire_s_rules_is_told_which(
    console: Console, frames: list[JsonObject], code: int, reason: str
) -> None:
    async with console.agent() as agent:
        for frame in frames:
            await agent.send(as_text(frame))
        closing = await closing_of(agent)

    assert closing == (code, reason)


@pytest.mark.parametrize(
    "owner",
    [
        None,
        TokenOwner("system:serviceaccount:team-research:default", "gpu-01"),
        TokenOwner(settings.AGENT_USERNAME, ""),
    ],
    ids=["nobody's", "another pod's", "bound to no node"],
)
async def test_token_that_is_not_a_node_agent_s_is_refused(
    console: Console, reviews: Reviews, owner: TokenOwner | None
) -> None:
    if owner is not None:
        reviews.tokens["another-token"] = owner
    async with console.agent("another-token") as agent:
        closing = await closing_of(agent)

    assert closing == (4401, "not the token of a node's agent")


async def test_agent_without_a_token_is_refused(console: Console) -> None:
    async with console.agent("") as agent:
        code, _ = await closing_of(agent)

    assert code == 4401


async def test_browser_cannot_use_the_agents_socket(console: Console) -> None:
    with pytest.raises(InvalidStatus) as refused:
        async with console.agent(Origin="http://127.0.0.1:8000"):
            pass

    assert refused.value.response.status_code == 403


async def test_agent_of_a_cluster_that_is_not_shown_here_is_refused(console: Console) -> None:
    async with console.agent(query="?cluster=elsewhere") as agent:
        code, _ = await closing_of(agent)

    assert code == 4401


async def test_agent_that_names_no_cluster_is_refused_where_there_are_several(
    console: Console, reviews: Reviews
) -> None:
    await in_database(Cluster.objects.create)(name="another", kubeconfig="/nowhere")
    asked = len(reviews.questions)
    async with console.agent() as agent:
        code, _ = await closing_of(agent)

    assert code == 4401
    # Its token was shown to no API server at all.
    assert len(reviews.questions) == asked


async def test_agent_that_is_connected_stays_when_a_second_cluster_is_added(
    console: Console, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dra_console.live.agents.TOKEN_CHECK_SECONDS", 0.1)
    async with console.agent() as agent:
        await introduce(agent)
        await in_database(Cluster.objects.create)(name="another", kubeconfig="/nowhere")
        await asyncio.sleep(0.5)
        await agent.send(as_text(a_sample(1, a_device_sample(utilisation_percent=97))))

        assert await until(lambda: store.latest(cluster.pk))


async def test_agent_may_name_its_cluster(console: Console) -> None:
    async with console.agent(query="?cluster=demo") as agent:
        await introduce(agent)


async def test_agent_that_says_no_hello_is_let_go(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dra_console.live.agents.HELLO_SECONDS", 0.2)
    async with console.agent() as agent:
        code, _ = await closing_of(agent)

    assert code == 4408


async def test_newer_connection_of_a_node_replaces_the_older_one(
    console: Console, cluster: Cluster
) -> None:
    async with console.agent() as older, console.agent() as newer:
        await introduce(older)
        await introduce(newer)
        await newer.send(as_text(claims_frame(1, a_node_claim("c-1"))))
        await until(lambda: store.prepared(cluster.pk, "c-1"))
        await older.send(as_text(claims_frame(1)))
        code, _ = await closing_of(older)

        assert code == 4409
        assert store.prepared(cluster.pk, "c-1")
        await newer.send(as_text(a_sample(2, a_device_sample(utilisation_percent=50))))
        await until(lambda: store.latest(cluster.pk))


async def test_token_that_is_revoked_ends_the_connection_at_the_next_check(
    console: Console, reviews: Reviews, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dra_console.live.agents.TOKEN_CHECK_SECONDS", 0.2)
    monkeypatch.setattr("dra_console.live.tokens.REMEMBERED_SECONDS", 0)
    async with console.agent() as agent:
        await introduce(agent)
        reviews.tokens.clear()
        code, _ = await closing_of(agent)

    assert code == 4401


async def test_reconnecting_agents_do_not_ask_the_api_server_each_time(
    console: Console, reviews: Reviews
) -> None:
    for _ in range(5):
        async with console.agent() as agent:
            await introduce(agent)

    assert reviews.questions == ["TokenReview"]


async def test_store_that_lost_its_memory_is_filled_again_by_the_next_frames(
    console: Console, cluster: Cluster, empty_redis: redis.Redis
) -> None:
    async with console.agent() as agent:
        await introduce(agent)
        connected_at = store.agents(cluster.pk)["gpu-01"].connected_at
        empty_redis.flushall()
        await agent.send(as_text(a_sample(1, a_device_sample(utilisation_percent=97))))
        agents = await until(lambda: store.agents(cluster.pk))

    assert store.latest(cluster.pk)[GPU_0].utilisation_percent == 97
    assert agents["gpu-01"].connected_at == connected_at


async def test_frame_that_cannot_be_recorded_is_lost_and_the_connection_is_not(
    console: Console, cluster: Cluster, empty_redis: redis.Redis
) -> None:
    latest = records.Keys(cluster.pk).latest
    async with console.agent() as agent:
        await introduce(agent)
        # A key of the wrong kind makes Redis answer with an error, as a sick one would.
        empty_redis.set(latest, "not a hash")
        await agent.send(as_text(a_sample(1, a_device_sample(utilisation_percent=96))))
        await asyncio.sleep(0.2)
        empty_redis.delete(latest)
        await agent.send(as_text(a_sample(2, a_device_sample(utilisation_percent=97))))
        readings = await until(lambda: store.latest(cluster.pk))

    assert readings[GPU_0].utilisation_percent == 97


async def test_hundreds_of_agents_may_speak_in_one_moment(
    console: Console, cluster: Cluster, reviews: Reviews
) -> None:
    names = [f"node-{number}" for number in range(150)]
    reviews.tokens |= {name: TokenOwner(settings.AGENT_USERNAME, name) for name in names}
    async with contextlib.AsyncExitStack() as stack:
        agents = {name: await stack.enter_async_context(console.agent(name)) for name in names}
        for name, agent in agents.items():
            await agent.send(as_text(a_hello(name)))
        await asyncio.gather(*(agent.recv() for agent in agents.values()))
        frame = as_text(a_sample(1, a_device_sample(utilisation_percent=97)))
        await asyncio.gather(*(agent.send(frame) for agent in agents.values()))
        await until(lambda: len(store.latest(cluster.pk)) == len(names))

        assert [agent.close_code for agent in agents.values()] == [None] * len(names)


async def test_every_key_expires_by_itself(
    console: Console, cluster: Cluster, empty_redis: redis.Redis
) -> None:
    async with console.agent() as agent:
        await introduce(agent)
        await agent.send(as_text(a_sample(1, a_device_sample(utilisation_percent=97))))
        await agent.send(as_text(claims_frame(2, a_node_claim("c-1"))))
        await until(lambda: store.prepared(cluster.pk, "c-1"))
        await asyncio.sleep(0)

    keys = list(empty_redis.scan_iter("telemetry:*"))
    assert len(keys) == 7
    assert [key for key in keys if empty_redis.ttl(key) <= 0] == []
