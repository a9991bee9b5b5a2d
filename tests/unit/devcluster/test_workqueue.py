import asyncio
from dataclasses import dataclass

import pytest

from dra_console.devcluster.workqueue import BackOff, WorkQueue


@dataclass
class Clock:
    seconds: float = 0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def queue(clock: Clock) -> WorkQueue[str]:
    return WorkQueue(back_off=BackOff(first_seconds=1, most_seconds=8), clock=clock)


async def next_or_none(queue: WorkQueue[str]) -> str | None:
    try:
        return await asyncio.wait_for(queue.next(), 0.01)
    except TimeoutError:
        return None


async def test_a_key_that_waits_is_not_added_twice(queue: WorkQueue[str]) -> None:
    queue.add("a")
    queue.add("a")

    assert await next_or_none(queue) == "a"
    assert await next_or_none(queue) is None


async def test_a_failed_key_does_not_hold_up_others(queue: WorkQueue[str]) -> None:
    queue.fail("a")
    queue.add("b")

    assert await next_or_none(queue) == "b"
    assert await next_or_none(queue) is None


async def test_a_failed_key_comes_back_when_its_time_is_over(
    queue: WorkQueue[str], clock: Clock
) -> None:
    queue.fail("a")
    clock.seconds = 1

    assert await next_or_none(queue) == "a"


async def test_adding_a_key_that_was_put_off_makes_it_due(queue: WorkQueue[str]) -> None:
    queue.fail("a")
    queue.add("a")

    assert await next_or_none(queue) == "a"


def test_waits_double_up_to_the_most(queue: WorkQueue[str]) -> None:
    assert [queue.fail("a") for _ in range(5)] == [1, 2, 4, 8, 8]


def test_a_success_forgets_the_failures(queue: WorkQueue[str]) -> None:
    queue.fail("a")
    queue.succeed("a")

    assert queue.fail("a") == 1


def test_years_of_failures_do_not_overflow() -> None:
    assert BackOff(first_seconds=1, most_seconds=60).seconds(10**6) == 60
