from datetime import UTC, datetime, timedelta

import pytest
from django.conf import settings

from dra_console.schedules import Every


@pytest.mark.parametrize(
    ("ago", "is_due"),
    [
        (timedelta(seconds=6), True),
        (timedelta(seconds=2), False),
        # The clock was set back since.
        (timedelta(hours=-1), True),
    ],
)
def test_a_task_is_due_every_few_seconds_also_after_the_clock_was_set_back(
    ago: timedelta, is_due: bool
) -> None:
    found = Every(5).is_due(datetime.now(UTC) - ago)

    assert found.is_due is is_due
    assert 0 < found.next <= 5


def test_all_of_beats_tasks_are_scheduled_so() -> None:
    schedules = [entry["schedule"] for entry in settings.CELERY_BEAT_SCHEDULE.values()]

    assert schedules
    assert all(isinstance(each, Every) for each in schedules)
