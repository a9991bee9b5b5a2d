import asyncio
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest
import redis
from channels.db import database_sync_to_async as in_database
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.test import Client as HttpClient
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import InvalidStatus

from dra_console import topic_ages
from dra_console.allocator.model import JsonObject
from dra_console.events import announce, claim_topic, claims_topic, devices_topic
from dra_console.mirror.models import ClaimState, Cluster, ResourceClaim
from dra_console.telemetry import records
from dra_console.topic_ages import KEPT_SECONDS
from tests.builders.frames import a_device_sample, a_hello, a_sample, as_text
from tests.builders.reviews import Reviews, Right, a_review_server
from tests.integration.live.conftest import Console, closing_of, sign_in

NODE_TOPIC = "telemetry.{}.gpu-01"


class Answer(msgspec.Struct):
    subscribed: list[str]
    refused: list[str]
    changed_seconds_ago: dict[str, float | None]


async def ask_for(browser: ClientConnection, *topics: str) -> Answer:
    await browser.send(json.dumps({"subscribe": topics}))
    return msgspec.convert(await next_frame(browser, having="subscribed"), Answer)


class DeviceReadings(msgspec.Struct):
    utilisation_percent: int | None
    stale: bool


class Readings(msgspec.Struct):
    seq: int
    driver: str | None
    pool: str | None
    agent_seen_seconds_ago: float | None
    devices: dict[str, DeviceReadings]


async def next_readings(browser: ClientConnection) -> Readings:
    return msgspec.convert(await next_frame(browser, having="devices"), Readings)


async def next_frame(browser: ClientConnection, *, having: str) -> JsonObject:
    async with asyncio.timeout(10):
        while True:
            frame: JsonObject = json.loads(await browser.recv())
            if having in frame:
                return frame


def a_claim_row(cluster: Cluster, name: str, *, namespace: str) -> ResourceClaim:
    return ResourceClaim.objects.create(
        cluster=cluster,
        uid=f"uid-{name}",
        namespace=namespace,
        name=name,
        resource_version="1",
        created_at=datetime(2026, 11, 29, 20, tzinfo=UTC),
        state=ClaimState.PENDING,
        raw={},
    )


@pytest.mark.parametrize("origin", [None, "http://evil.example", "http://127.0.0.1:1", "null"])
async def test_missing_or_foreign_origin_is_refused(
    console: Console, admin_session: str, origin: str | None
) -> None:
    with pytest.raises(InvalidStatus) as refused:
        async with console.browser(admin_session, origin=origin):
            pass

    assert refused.value.response.status_code == 403


async def test_browser_that_is_not_signed_in_is_refused(console: Console) -> None:
    with pytest.raises(InvalidStatus) as refused:
        async with console.browser("no-such-session"):
            pass

    assert refused.value.response.status_code == 403


async def test_unknown_address_is_refused_without_a_traceback(console: Console) -> None:
    with pytest.raises(InvalidStatus) as refused:
        async with console.connection("/ws/v1/shell", {}):
            pass

    assert refused.value.response.status_code == 403


async def test_changed_topic_reaches_only_its_subscribers(
    console: Console, cluster: Cluster, admin_session: str
) -> None:
    async with console.browser(admin_session) as one, console.browser(admin_session) as other:
        await ask_for(one, devices_topic(cluster.pk))
        await ask_for(other, claims_topic(cluster.pk))
        await announce(devices_topic(cluster.pk))
        await announce(claims_topic(cluster.pk))

        assert await next_frame(one, having="changed") == {
            "topic": devices_topic(cluster.pk),
            "changed": True,
        }
        assert (await next_frame(other, having="changed"))["topic"] == claims_topic(cluster.pk)


async def test_answer_to_a_subscription_says_how_long_ago_its_topics_changed(
    console: Console, cluster: Cluster, admin_session: str
) -> None:
    changed, unchanged = devices_topic(cluster.pk), claims_topic(cluster.pk)
    await announce(changed)

    async with console.browser(admin_session) as browser:
        answer = await ask_for(browser, changed, unchanged, NODE_TOPIC.format(cluster.pk))

    assert answer.changed_seconds_ago == {
        changed: pytest.approx(30, abs=30),
        unchanged: KEPT_SECONDS,
    }


async def test_age_of_a_change_is_unknown_while_redis_cannot_be_read(
    console: Console,
    cluster: Cluster,
    admin_session: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    nobody_answers = redis.Redis.from_url("redis://127.0.0.1:1")
    monkeypatch.setattr(topic_ages, "_redis", lambda: nobody_answers)

    async with console.browser(admin_session) as browser:
        answer = await ask_for(browser, devices_topic(cluster.pk))

    assert answer.subscribed == [devices_topic(cluster.pk)]
    assert answer.changed_seconds_ago == {devices_topic(cluster.pk): None}


async def test_sample_is_on_the_page_within_two_seconds(
    console: Console, cluster: Cluster, admin_session: str
) -> None:
    topic = NODE_TOPIC.format(cluster.pk)
    async with console.browser(admin_session) as browser, console.agent() as agent:
        await ask_for(browser, topic)
        await agent.send(as_text(a_hello()))
        await agent.recv()
        sent_at = datetime.now(UTC)
        await agent.send(as_text(a_sample(1, a_device_sample(utilisation_percent=97))))
        readings = await next_readings(browser)
        while not readings.devices:
            readings = await next_readings(browser)
        delay = datetime.now(UTC) - sent_at

    assert delay < timedelta(seconds=2)
    assert (readings.driver, readings.pool) == ("gpu.nvidia.com", "gpu-01")
    assert readings.devices["gpu-0"] == DeviceReadings(utilisation_percent=97, stale=False)


async def test_silent_agent_s_devices_turn_stale_on_the_page(
    console: Console, cluster: Cluster, admin_session: str, empty_redis: redis.Redis
) -> None:
    seen_at = datetime.now(UTC) - timedelta(seconds=13)
    latest = records.LatestRecord(
        driver="gpu.nvidia.com",
        pool="gpu-01",
        taken_at=seen_at,
        received_at=seen_at,
        devices=(records.DeviceRecord("gpu-0", 97, None, None, None, None, None),),
    )
    keys = records.Keys(cluster.pk)
    empty_redis.hset(keys.latest, "gpu-01", records.encode(latest))
    empty_redis.zadd(keys.seen, {"gpu-01": seen_at.timestamp()})

    async with console.browser(admin_session) as browser:
        await ask_for(browser, NODE_TOPIC.format(cluster.pk))
        told = [await next_readings(browser)]
        while not told[-1].devices["gpu-0"].stale:
            told.append(await next_readings(browser))

    assert told[0].devices["gpu-0"] == DeviceReadings(utilisation_percent=97, stale=False)
    assert told[-1].devices["gpu-0"].utilisation_percent == 97
    assert told[-1].agent_seen_seconds_ago == pytest.approx(15.5, abs=1)


async def test_last_known_readings_are_told_on_while_redis_cannot_be_read(
    console: Console, cluster: Cluster, admin_session: str, empty_redis: redis.Redis
) -> None:
    async with console.agent() as agent, console.browser(admin_session) as browser:
        await agent.send(as_text(a_hello()))
        await agent.recv()
        await agent.send(as_text(a_sample(1, a_device_sample(utilisation_percent=97))))
        await ask_for(browser, NODE_TOPIC.format(cluster.pk))
        before = await next_readings(browser)
        # A key of the wrong kind makes Redis answer with an error, as a sick one would.
        empty_redis.set(records.Keys(cluster.pk).agents, "not a hash")
        frames = [await next_readings(browser) for _ in range(3)]

    assert frames[-1].devices == before.devices
    assert frames[-1].agent_seen_seconds_ago == pytest.approx(3, abs=1.5)


@pytest.fixture
def researcher_session(
    cluster: Cluster,  # noqa: ARG001 - only has to be there
    reviews: Reviews,
) -> str:
    reviews.rights |= {
        Right("researcher", "list", "resourceclaims", "team-research"),
        Right("researcher", "get", "resourceclaims", "team-research"),
    }
    return sign_in("researcher")


async def test_foreign_claim_is_refused_as_if_it_did_not_exist(
    console: Console, cluster: Cluster, researcher_session: str
) -> None:
    own = await in_database(a_claim_row)(cluster, "own", namespace="team-research")
    foreign = await in_database(a_claim_row)(cluster, "foreign", namespace="team-vision")
    topics = {uid: claim_topic(cluster.pk, uid) for uid in (own.uid, foreign.uid, "uid-of-none")}
    async with console.browser(researcher_session) as browser:
        answer = await ask_for(browser, *topics.values())

    assert answer.subscribed == [topics[own.uid]]
    assert answer.refused == sorted([topics[foreign.uid], topics["uid-of-none"]])


async def test_devices_and_readings_need_the_right_to_list_slices_and_nodes(
    console: Console, cluster: Cluster, researcher_session: str, reviews: Reviews
) -> None:
    topics = [devices_topic(cluster.pk), NODE_TOPIC.format(cluster.pk)]
    reviews.rights.add(Right("researcher", "list", "resourceslices"))
    async with console.browser(researcher_session) as browser:
        answer = await ask_for(browser, *topics)

    assert (answer.subscribed, answer.refused) == ([], topics)


async def test_topic_of_another_cluster_or_of_nothing_is_refused(
    console: Console, cluster: Cluster, admin_session: str
) -> None:
    topics = [devices_topic(cluster.pk + 1), "devices", "session.abc"]
    async with console.browser(admin_session) as browser:
        answer = await ask_for(browser, *topics)

    assert (answer.subscribed, answer.refused) == ([], sorted(topics))


async def test_rights_in_one_cluster_open_no_topic_of_another(
    console: Console, cluster: Cluster, admin_session: str, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    with a_review_server(tmp_path / "other") as nobody_may:
        other = await in_database(Cluster.objects.create)(
            name="other", kubeconfig=nobody_may.kubeconfig
        )
        here = [devices_topic(cluster.pk), claims_topic(cluster.pk), NODE_TOPIC.format(cluster.pk)]
        there = [devices_topic(other.pk), claims_topic(other.pk), NODE_TOPIC.format(other.pk)]
        async with console.browser(admin_session) as browser:
            answer = await ask_for(browser, *here, *there)

    assert (answer.subscribed, answer.refused) == (sorted(here), sorted(there))


async def test_topic_that_is_no_longer_wanted_is_no_longer_told(
    console: Console, cluster: Cluster, admin_session: str
) -> None:
    devices, claims = devices_topic(cluster.pk), claims_topic(cluster.pk)
    async with console.browser(admin_session) as browser:
        await ask_for(browser, devices, claims)
        await browser.send(json.dumps({"unsubscribe": [devices]}))
        await next_frame(browser, having="subscribed")
        await announce(devices)
        await announce(claims)

        assert (await next_frame(browser, having="changed"))["topic"] == claims


async def test_right_that_is_withdrawn_ends_the_subscription_at_the_next_check(
    console: Console,
    cluster: Cluster,
    admin_session: str,
    reviews: Reviews,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dra_console.live.browsers.CHECK_SECONDS", 0.2)
    monkeypatch.setattr("dra_console.access.rules.REMEMBERED_SECONDS", 0)
    topic = devices_topic(cluster.pk)
    async with console.browser(admin_session) as browser:
        await ask_for(browser, topic)
        reviews.rights.clear()

        assert (await next_frame(browser, having="refused"))["refused"] == [topic]


async def test_disabled_account_s_socket_is_closed_at_the_next_check(
    console: Console, admin_session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dra_console.live.browsers.CHECK_SECONDS", 0.2)
    async with console.browser(admin_session) as browser:
        await in_database(User.objects.filter(username="admin").update)(is_active=False)
        closing = await closing_of(browser)

    assert closing == (4401, "signed out")


async def test_session_that_is_deleted_is_closed_at_the_next_check(
    console: Console, admin_session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dra_console.live.browsers.CHECK_SECONDS", 0.2)
    async with console.browser(admin_session) as browser:
        await in_database(Session.objects.all().delete)()
        code, _ = await closing_of(browser)

    assert code == 4401


async def test_log_out_closes_the_session_s_sockets_at_once(
    console: Console, admin_session: str
) -> None:
    async with console.browser(admin_session) as browser:
        await ask_for(browser)
        await in_database(log_out)(admin_session)
        closing = await closing_of(browser)

    assert closing == (4401, "signed out")


@pytest.mark.parametrize("text", ["", "[]", '{"delete": ["gpu-0"]}'])
async def test_anything_but_a_request_for_topics_closes_the_socket(
    console: Console, admin_session: str, text: str
) -> None:
    async with console.browser(admin_session) as browser:
        await browser.send(text)
        code, _ = await closing_of(browser)

    assert code == 4400


async def test_browser_that_asks_too_fast_is_let_go(console: Console, admin_session: str) -> None:
    async with console.browser(admin_session) as browser:
        for _ in range(30):
            await browser.send('{"subscribe":[]}')
        code, _ = await closing_of(browser)

    assert code == 4429


async def test_slow_browser_loses_old_samples_and_holds_nobody_up(
    console: Console, cluster: Cluster, admin_session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dra_console.live.tick.INTERVAL_SECONDS", 0.01)
    topic = NODE_TOPIC.format(cluster.pk)
    devices = [a_device_sample(f"gpu-{n}", utilisation_percent=50) for n in range(1000)]
    async with (
        console.agent() as agent,
        console.browser(admin_session, max_queue=1, compression=None) as slow,
        console.browser(admin_session) as quick,
    ):
        await agent.send(as_text(a_hello()))
        await agent.recv()
        await agent.send(as_text(a_sample(1, *devices)))
        await ask_for(slow, topic)
        await ask_for(quick, topic)
        on_time = [(await next_readings(quick)).seq for _ in range(120)]
        late = [(await next_readings(slow)).seq for _ in range(100)]

    assert on_time == sorted(set(on_time))
    assert late == sorted(set(late))
    assert late[-1] - late[0] > len(late), "nothing was lost: the test's browser was not slow"


def log_out(session_key: str) -> None:
    browser = HttpClient()
    browser.cookies["dra_console_session"] = session_key
    assert browser.post("/logout/").status_code == 302
