"""A message as the worker holds it; apart, since only workers need Celery's worker loaded."""

from typing import Literal

from celery.worker.request import Request

from dra_console.task_expiry import has_expired


class AgedRequest(Request):
    """Expires by Redis' clock."""

    def maybe_expire(self) -> Literal[True] | None:
        """Tell whether the task is to be dropped; called where it has an expiry at all."""
        expired = has_expired(self.request_dict)
        if expired is None:
            return super().maybe_expire()
        return True if expired else None
