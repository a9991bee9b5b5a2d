"""Places of those who wait for this console, and what is known of other queues."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from django.urls import reverse

from dra_console.scheduling.attempts.pending import NOT_TRIED
from dra_console.scheduling.models import Attempt
from dra_console.scheduling.planning.claim_scheduling import standing_in_words
from dra_console.scheduling.planning.queue_of import InQueue
from dra_console.web.presenters.attempts import SIGNS, OutcomeSign
from dra_console.web.wording import counted


@dataclass(frozen=True, slots=True)
class PlaceLine:
    """One place in the queue."""

    place: int
    namespace: str
    name: str
    kind: str
    address: str
    priority: int
    created_at: datetime
    sign: OutcomeSign
    headline: str
    """Why it did not fit when it was last tried; empty: not tried yet."""

    tried_at: datetime | None
    standing: str
    """What it waits for, in words."""


def place_lines(places: Iterable[InQueue], *, attempts: Iterable[Attempt]) -> tuple[PlaceLine, ...]:
    """Draw places with the newest attempts of who stands there."""
    newest = {attempt.subject_uid: attempt for attempt in attempts}
    return tuple(_place(one, newest.get(one.line.uid)) for one in places)


def _place(one: InQueue, attempt: Attempt | None) -> PlaceLine:
    line = one.line
    page = "web:pod" if line.is_pod else "web:claim"
    return PlaceLine(
        place=one.place,
        namespace=line.namespace,
        name=line.name,
        kind="pod" if line.is_pod else "claim, reserved ahead",
        address=reverse(page, args=(line.namespace, line.name)),
        priority=line.priority,
        created_at=line.created_at,
        sign=SIGNS[attempt.outcome if attempt else NOT_TRIED],
        headline=(attempt.headline if attempt else "") or one.reason,
        tried_at=one.tried_at or (attempt.last_at if attempt else None),
        standing=standing_in_words(one),
    )


def elsewhere_in_words(waiting: Mapping[str, int]) -> str:
    """Say how many pods wait for other schedulers; empty: none."""
    words = [
        f"{counted(pods, 'pod')} for {name or 'a scheduler without a name'}"
        for name, pods in sorted(waiting.items())
    ]
    return ", ".join(words)
