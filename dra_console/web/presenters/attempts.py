"""Attempts and what waits, as lines of a page."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from urllib.parse import urlencode

from django.urls import reverse

from dra_console.allocator.model import Json
from dra_console.scheduling.attempts.pending import NOT_TRIED, PendingGroup
from dra_console.scheduling.models import Attempt, Outcome
from dra_console.web.presenters.wants import Wants, wants_of
from dra_console.web.wording import counted

NAMESPACES_NAMED: Final = 3


@dataclass(frozen=True, slots=True)
class OutcomeSign:
    """An outcome as a pill shows it."""

    label: str
    tone: str
    icon: str


SIGNS: Final[Mapping[str, OutcomeSign]] = {
    Outcome.FITS: OutcomeSign("fits", "ok", "check"),
    Outcome.DOES_NOT_FIT: OutcomeSign("does not fit", "warn", "x"),
    Outcome.BROKEN: OutcomeSign("cannot be asked", "sick", "alert-triangle"),
    Outcome.BUDGET: OutcomeSign("no answer", "warn", "help"),
    Outcome.WAITS: OutcomeSign("held back", "warn", "hourglass"),
    NOT_TRIED: OutcomeSign("not tried yet", "plain", "clock"),
}


@dataclass(frozen=True, slots=True)
class GroupLine:
    """Claims and pods that ask for the same."""

    count: str
    """As in `3 claims` or `2 pods without claims`."""

    wants: Wants | None
    """What the oldest asks for; None: it has no claim yet."""

    headline: str
    sign: OutcomeSign
    tried_at: datetime | None
    namespaces: str
    oldest_name: str
    oldest_address: str
    question: str
    """Query of the what-if page that asks about the oldest; empty: it has no claim yet."""

    oldest_at: datetime


@dataclass(frozen=True, slots=True)
class AttemptLine:
    """One attempt in the log."""

    number: int
    address: str
    sign: OutcomeSign
    headline: str
    namespace: str
    subject: str
    """The pod, else the claim."""

    subject_kind: str
    subject_address: str
    claims: str
    """Names of the pod's claims; empty where the subject is the claim itself."""

    started_at: datetime
    last_at: datetime
    repeats: int


def group_lines(
    groups: Iterable[PendingGroup], *, specs: Mapping[str, Json]
) -> tuple[GroupLine, ...]:
    """Draw groups; `specs` are the oldest members' claim specs, by UID."""
    return tuple(_group(group, specs) for group in groups)


def _group(group: PendingGroup, specs: Mapping[str, Json]) -> GroupLine:
    oldest = group.oldest
    page = "web:pod" if oldest.is_pod else "web:claim"
    address = reverse(page, args=(oldest.namespace, oldest.name))
    if oldest.is_pod and group.attempt is not None:
        address = reverse("web:attempt", args=(group.attempt,))
    return GroupLine(
        count=_count(group),
        wants=wants_of(specs[oldest.uid]) if oldest.uid in specs else None,
        headline=group.headline,
        sign=SIGNS[group.outcome],
        tried_at=group.tried_at,
        namespaces=_namespaces(group.namespaces),
        oldest_name=oldest.name,
        oldest_address=address,
        question="" if oldest.is_pod else question_about(oldest.namespace, oldest.name),
        oldest_at=oldest.created_at,
    )


def question_about(namespace: str, claim_name: str) -> str:
    """Spell the query with which the what-if page asks about a claim."""
    return urlencode({"act": "pod", "pod": f"claim {namespace} {claim_name}"})


def attempt_lines(attempts: Iterable[Attempt]) -> tuple[AttemptLine, ...]:
    """Draw attempts in their order."""
    return tuple(attempt_line(attempt) for attempt in attempts)


def attempt_line(attempt: Attempt) -> AttemptLine:
    """Draw one attempt."""
    is_pod = bool(attempt.pod_name)
    subject = attempt.pod_name or attempt.claim_name
    page = "web:pod" if is_pod else "web:claim"
    return AttemptLine(
        number=attempt.pk,
        address=reverse("web:attempt", args=(attempt.pk,)),
        sign=SIGNS[attempt.outcome],
        headline=attempt.headline,
        namespace=attempt.namespace,
        subject=subject,
        subject_kind="pod" if is_pod else "claim",
        subject_address=reverse(page, args=(attempt.namespace, subject)),
        claims=", ".join(attempt.claim_names) if is_pod else "",
        started_at=attempt.started_at,
        last_at=attempt.last_at,
        repeats=attempt.repeats,
    )


def _count(group: PendingGroup) -> str:
    pods = sum(member.is_pod for member in group.members)
    claims = len(group.members) - pods
    words = [counted(claims, "claim")] if claims else []
    if pods:
        words.append(counted(pods, "pod without claims", "pods without claims"))
    return ", ".join(words)


def _namespaces(names: tuple[str, ...]) -> str:
    more = len(names) - NAMESPACES_NAMED
    words = ", ".join(names[:NAMESPACES_NAMED])
    return f"{words} and {more} more" if more > 0 else words
