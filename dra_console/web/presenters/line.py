"""Places in the line of those who wait for this console, and what is known of other lines."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from django.urls import reverse

from dra_console.scheduling.attempts.pending import NOT_TRIED
from dra_console.scheduling.attempts.waiting_line import InLine
from dra_console.scheduling.models import Attempt
from dra_console.web.presenters.attempts import SIGNS, OutcomeSign
from dra_console.web.wording import counted


@dataclass(frozen=True, slots=True)
class PlaceLine:
    """One place in the line."""

    place: int
    namespace: str
    name: str
    kind: str
    address: str
    priority: int
    created_at: datetime
    sign: OutcomeSign
    headline: str
    """What its newest attempt said; empty: not tried yet."""

    tried_at: datetime | None


def place_lines(
    places: Iterable[tuple[int, InLine]], *, attempts: Iterable[Attempt]
) -> tuple[PlaceLine, ...]:
    """Draw places with the newest attempts of who stands there."""
    newest = {attempt.subject_uid: attempt for attempt in attempts}
    return tuple(_place(place, one, newest.get(one.uid)) for place, one in places)


def _place(place: int, one: InLine, attempt: Attempt | None) -> PlaceLine:
    return PlaceLine(
        place=place,
        namespace=one.namespace,
        name=one.name,
        kind="pod" if one.is_pod else "claim, reserved ahead",
        address=reverse("web:pod" if one.is_pod else "web:claim", args=(one.namespace, one.name)),
        priority=one.priority,
        created_at=one.created_at,
        sign=SIGNS[attempt.outcome if attempt else NOT_TRIED],
        headline=attempt.headline if attempt else "",
        tried_at=attempt.last_at if attempt else None,
    )


def elsewhere_in_words(waiting: Mapping[str, int]) -> str:
    """Say how many pods wait for other schedulers; empty: none."""
    words = [
        f"{counted(pods, 'pod')} for {name or 'a scheduler without a name'}"
        for name, pods in sorted(waiting.items())
    ]
    return ", ".join(words)
