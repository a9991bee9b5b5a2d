import asyncio

import pytest

from dra_console.live.outbox import DropOldestOutbox


async def test_newer_value_replaces_the_one_that_waits() -> None:
    outbox = DropOldestOutbox(limit=10)
    outbox.put("telemetry.1.gpu-01", "old")
    outbox.put("telemetry.1.gpu-01", "new")

    assert await outbox.take() == "new"
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(outbox.take(), 0.01)


async def test_every_topic_gets_its_turn_however_slow_the_browser() -> None:
    outbox = DropOldestOutbox(limit=10)
    taken = []
    for second in range(3):
        for topic in ("a", "b", "c"):
            outbox.put(topic, f"{topic}{second}")
        taken.append(await outbox.take())

    assert taken == ["a0", "b1", "c2"]


async def test_full_outbox_drops_its_oldest_message() -> None:
    outbox = DropOldestOutbox(limit=2)
    for subject in ("a", "b", "c"):
        outbox.put(subject, subject)

    assert [await outbox.take(), await outbox.take()] == ["b", "c"]


async def test_taking_waits_for_a_message() -> None:
    outbox = DropOldestOutbox(limit=10)
    taking = asyncio.create_task(outbox.take())
    await asyncio.sleep(0)
    outbox.put("a", "text")

    assert await taking == "text"
