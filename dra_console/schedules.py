"""When beat sends its tasks."""

from datetime import datetime

from celery.schedules import schedstate, schedule


class Every(schedule):
    """Every so many seconds, also after the clock was set back.

    Celery waits until the clock has caught up with the last time that it remembers, which
    beat also reads from its file: an hour set back would be an hour without new windows.
    """

    def is_due(self, last_run_at: datetime) -> schedstate:
        """Tell whether it is time, and in how many seconds to ask again."""
        if self.maybe_make_aware(last_run_at) > self.now():
            return schedstate(is_due=True, next=self.seconds)
        return super().is_due(last_run_at)
