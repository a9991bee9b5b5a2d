"""Conflicts in groups by kind, each with its links and what to do."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Final

from django.urls import NoReverseMatch, reverse

from dra_console.scheduling.coexistence.findings import FindingKind, Severity
from dra_console.scheduling.coexistence.telling import Told, counts_of, told
from dra_console.scheduling.models import Conflict
from dra_console.web.presenters.care import Concern
from dra_console.web.presenters.clusters import Sign
from dra_console.web.presenters.tiles import Look
from dra_console.web.wording import counted

SHOWN_PER_KIND: Final = 50

TITLES: Final[Mapping[FindingKind, str]] = MappingProxyType(
    {
        FindingKind.DOUBLE_BOOKING: "Devices given twice",
        FindingKind.OVERDRAWN_CAPACITY: "Shares beyond the capacity",
        FindingKind.OVERDRAWN_COUNTERS: "Overlapping partitions",
        FindingKind.NO_EXECUTE: "Held devices to be emptied",
        FindingKind.VANISHED_DEVICE: "Held devices that vanished",
        FindingKind.INCOMPLETE_POOL: "Held devices of incomplete pools",
        FindingKind.STUCK_DELETION: "Deletions that do not end",
        FindingKind.STALE_RESERVATION: "Reserved for pods that will not use it",
        FindingKind.UNRESERVED: "Held for nobody",
        FindingKind.FOREIGN: "Managed devices that others gave away",
        FindingKind.NO_MATCH: "Held devices that match no longer",
    }
)

SIGNS: Final[Mapping[Severity, Sign]] = MappingProxyType(
    {
        Severity.HARM: Sign("harm", "sick", "alert-triangle"),
        Severity.ATTENTION: Sign("attention", "warn", "hourglass"),
        Severity.INFORMATION: Sign("information", "", "info-circle"),
    }
)

KINDS_NAMED: Final = 3


@dataclass(frozen=True, slots=True)
class Link:
    """Something that has a page, or had one."""

    label: str
    note: str
    address: str
    """Empty: it has none."""


@dataclass(frozen=True, slots=True)
class ConflictLine:
    """One finding."""

    sign: Sign
    headline: str
    detail: str
    todo: str
    links: tuple[Link, ...]
    hidden: str
    """How many claims of other namespaces it concerns, in words; empty: none."""

    since: datetime
    release_address: str
    """Empty: taking the devices back is not offered to this person."""


@dataclass(frozen=True, slots=True)
class ConflictGroup:
    """All findings of one kind that the reader may know of."""

    slug: str
    title: str
    count: int
    lines: tuple[ConflictLine, ...]

    @property
    def more(self) -> int:
        """Count those that are not shown."""
        return self.count - len(self.lines)


def conflict_groups(
    conflicts: Sequence[Conflict],
    *,
    namespaces: Collection[str] | None,
    writable: Collection[str],
) -> tuple[ConflictGroup, ...]:
    """Group findings by kind, the worst first; `writable` are namespaces to release in."""
    groups = []
    for kind, count in counts_of(conflicts).items():
        of_kind = [one for one in conflicts if one.kind == kind]
        lines = tuple(
            _line(told(one, namespaces=namespaces), writable=writable)
            for one in of_kind[:SHOWN_PER_KIND]
        )
        groups.append(ConflictGroup(kind.value, TITLES[kind], count, lines))
    return tuple(groups)


def conflict_concerns(severities: Iterable[tuple[str, str]]) -> list[Concern]:
    """Say in one line of the overview what conflicts; pairs of kind and severity.

    What is for information only, and what the overview lists claim by claim anyway, is left out.
    """
    told_there = {FindingKind.UNRESERVED, FindingKind.STUCK_DELETION, FindingKind.INCOMPLETE_POOL}
    found = [
        (FindingKind(kind), severity)
        for kind, severity in severities
        if severity != Severity.INFORMATION and FindingKind(kind) not in told_there
    ]
    if not found:
        return []
    numbers = {kind: sum(one == kind for one, _ in found) for kind in FindingKind}
    kinds = [kind for kind in FindingKind if numbers[kind]]
    words = [f"{TITLES[kind].lower()}: {numbers[kind]}" for kind in kinds[:KINDS_NAMED]]
    if len(kinds) > KINDS_NAMED:
        words.append(f"{len(kinds) - KINDS_NAMED} more kinds")
    is_harm = any(severity == Severity.HARM for _, severity in found)
    return [
        Concern(
            look=Look.SICK if is_harm else Look.WARN,
            sign="conflict",
            headline=f"{counted(len(found), 'conflict')} between those who allocate",
            detail=" · ".join(words),
            address=reverse("web:conflicts"),
        )
    ]


def _line(one: Told, *, writable: Collection[str]) -> ConflictLine:
    links = [
        Link(
            f"{claim.namespace}/{claim.name}",
            claim.note,
            _address("web:claim", claim.namespace, claim.name),
        )
        for claim in one.claims
    ]
    links += [
        Link(
            f"pod {pod.name}",
            pod.note,
            _address("web:pod", pod.namespace, pod.name) if pod.exists else "",
        )
        for pod in one.pods
    ]
    if one.device is not None:
        is_gone = one.kind is FindingKind.VANISHED_DEVICE
        address = "" if is_gone else _address("web:device", *one.device)
        links.append(Link(str(one.device), "", address))
    releases = one.may_be_released and one.claims[0].namespace in writable
    return ConflictLine(
        sign=SIGNS[one.severity],
        headline=one.headline,
        detail=one.detail,
        todo=one.todo,
        links=tuple(links),
        hidden=f"{counted(one.hidden_claims, 'claim')} of other namespaces"
        if one.hidden_claims
        else "",
        since=one.since,
        release_address=_address("web:claim-release", one.claims[0].namespace, one.claims[0].name)
        if releases
        else "",
    )


def _address(page: str, *names: str) -> str:
    try:
        return reverse(page, args=names)
    except NoReverseMatch:
        # A name that no address can hold is a name without a page.
        return ""
