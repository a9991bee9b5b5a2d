"""How long a task has waited is told by Redis' clock, whatever time sender and worker have."""

import time
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from celery.utils.imports import symbol_by_name

from dra_console.celery import app
from dra_console.task_expiry import EXPIRES_AT, has_expired, note_expiry
from dra_console.task_requests import AgedRequest

pytestmark = pytest.mark.usefixtures("redis_url")

HOUR = timedelta(hours=1)


def a_message(*, expires_in_seconds: float, senders_clock_off_by: timedelta) -> dict[str, object]:
    """Make a message's headers as Celery does, on a machine whose clock is wrong."""
    with time_machine.travel(datetime.now(UTC) + senders_clock_off_by):
        expires = datetime.now(UTC) + timedelta(seconds=expires_in_seconds)
        headers: dict[str, object] = {"expires": expires.isoformat()}
        note_expiry(headers=headers)
    return headers


@pytest.mark.parametrize("sender", [-HOUR, timedelta(), HOUR])
@pytest.mark.parametrize("worker", [-HOUR, timedelta(), HOUR])
def test_a_task_expires_after_its_time_on_wrong_clocks(
    sender: timedelta, worker: timedelta
) -> None:
    fresh = a_message(expires_in_seconds=20, senders_clock_off_by=sender)
    short = a_message(expires_in_seconds=0.05, senders_clock_off_by=sender)
    time.sleep(0.1)

    with time_machine.travel(datetime.now(UTC) + worker):
        assert has_expired(fresh) is False
        assert has_expired(short) is True


def test_a_task_without_expiry_is_left_alone() -> None:
    headers: dict[str, object] = {"expires": None}

    note_expiry(headers=headers)

    assert EXPIRES_AT not in headers
    assert has_expired(headers) is None


def test_every_task_of_the_console_is_aged_so() -> None:
    tasks = [task for name, task in app.tasks.items() if name.startswith("dra_console.")]

    assert tasks
    assert {symbol_by_name(task.Request) for task in tasks} == {AgedRequest}
