"""Deletes Events that are old, as a real API server does (`--event-ttl`, one hour)."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, NoReturn

from dra_console.devcluster.fields import inside
from dra_console.devcluster.metadata import now
from dra_console.devcluster.store import Store
from dra_console.devcluster.stored import Stored
from dra_console.kube.kinds import EVENTS

LIFE: Final = timedelta(hours=1)
SWEEP_SECONDS: Final = 60


@dataclass(frozen=True, slots=True)
class EventExpiry:
    """Keeps a cluster that runs for weeks from drowning in remarks."""

    store: Store

    async def run(self) -> NoReturn:
        """Sweep from time to time, until cancelled."""
        while True:
            self.sweep(now=now())
            await asyncio.sleep(SWEEP_SECONDS)

    def sweep(self, *, now: datetime) -> None:
        """Delete the Events that were made or repeated too long before `now`."""
        for event in self.store.at(self.store.resource_version, EVENTS, namespace=None):
            if max(_times(event)) + LIFE < now:
                self.store.delete(EVENTS, event.namespace, event.name)


def _times(event: Stored) -> Iterator[datetime]:
    """Yield when the Event was made and, if it says so in a way that can be read, repeated."""
    for text in (
        inside(event.value, "metadata").text("creationTimestamp"),
        event.value.get("lastTimestamp"),
    ):
        try:
            yield datetime.fromisoformat(str(text)).astimezone(UTC)
        except ValueError:
            continue
