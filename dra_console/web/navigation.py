"""What every page carries around its content: rail entries, cluster, age of the mirror, colours.

A context processor, so that no view has to pass it. It is lazy: partials and the log-in
page, which show none of it, cost no query.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Min
from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import SimpleLazyObject

from dra_console.access.errors import RightsUnknownError
from dra_console.mirror.clock import database_now
from dra_console.mirror.clusters import enabled_clusters
from dra_console.mirror.models import ClaimState, Cluster, Cursor
from dra_console.scheduling.coexistence.findings import Severity
from dra_console.scheduling.coexistence.telling import kinds_and_severities
from dra_console.sync.following import KindFollowed, troubled_kinds
from dra_console.web import theme
from dra_console.web.claim_listing import visible_claims
from dra_console.web.cluster_choice import addresses_in, shown_cluster
from dra_console.web.presenters.reader import reader_of
from dra_console.web.wording import age_in_words


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of the rail."""

    label: str
    icon: str
    page: str
    """URL name within `web`."""

    key: str
    """Letter that opens it after `g`."""

    detail_pages: tuple[str, ...] = ()
    """URL names within `web` that also belong to it."""

    starts_group: bool = False


ENTRIES = (
    Entry(label="Overview", icon="layout-dashboard", page="overview", key="o"),
    Entry(label="Devices", icon="grid-dots", page="devices", key="d", detail_pages=("device",)),
    Entry(label="Claims", icon="file-text", page="claims", key="c", detail_pages=("claim", "pod")),
    Entry(
        label="Templates",
        icon="template",
        page="templates",
        key="t",
        detail_pages=("template", "request"),
    ),
    Entry(
        label="Scheduling",
        icon="hourglass",
        page="scheduling",
        key="s",
        detail_pages=("attempt",),
    ),
    Entry(label="What if", icon="bulb", page="what-if", key="w"),
    Entry(label="Nodes", icon="server", page="nodes", key="n", detail_pages=("node",)),
    Entry(
        label="Conflicts",
        icon="alert-triangle",
        page="conflicts",
        key="x",
        detail_pages=("claim-release", "managed-devices"),
    ),
    Entry(
        label="Clusters",
        icon="stack-2",
        page="clusters",
        key="l",
        detail_pages=("cluster",),
        starts_group=True,
    ),
)


@dataclass(frozen=True, slots=True)
class ShownEntry:
    """An entry as the rail draws it."""

    label: str
    icon: str
    key: str
    address: str
    is_current: bool
    starts_group: bool
    count: int
    """What waits there for somebody; 0 shows nothing."""

    counted: str
    """What the count counts, as in `waiting`."""


@dataclass(frozen=True, slots=True)
class ClusterChoice:
    """One of several clusters to look at."""

    name: str
    address: str
    """Where the page at hand is about that cluster, or the nearest page that is."""

    is_shown: bool

    troubles: int
    """Kinds that are not followed there."""


@dataclass(frozen=True, slots=True)
class Navigation:
    """The frame of one page."""

    entries: tuple[ShownEntry, ...]
    cluster: Cluster | None

    choices: tuple[ClusterChoice, ...]
    """Empty where there is nothing to choose."""

    mirror_note: str
    is_mirror_in_trouble: bool


def navigation(request: HttpRequest) -> Mapping[str, object]:
    """Offer `navigation`, and the colours that the person chose, to every template."""
    chosen = theme.theme_of(request)
    return {
        "navigation": SimpleLazyObject(lambda: navigation_of(request)),
        "theme": chosen,
        "theme_choices": theme.choices(chosen),
    }


def navigation_of(request: HttpRequest) -> Navigation:
    """Draw the frame for the page that the request asks for."""
    clusters = enabled_clusters()
    cluster = shown_cluster(request, clusters)
    now = database_now()
    by_cluster = troubled_kinds(clusters, now=now)
    troubles = () if cluster is None else by_cluster.get(cluster.pk, ())
    counts = {
        "claims": (_waiting(request, cluster), "waiting"),
        "conflicts": (_conflicts(request, cluster, now=now), "to decide"),
        "clusters": (sum(len(kinds) for kinds in by_cluster.values()), "kinds not followed"),
    }
    page = request.resolver_match.url_name if request.resolver_match else None
    return Navigation(
        entries=tuple(
            ShownEntry(
                label=entry.label,
                icon=entry.icon,
                key=entry.key,
                address=reverse(f"web:{entry.page}"),
                is_current=page in {entry.page, *entry.detail_pages},
                starts_group=entry.starts_group,
                count=counts.get(entry.page, (0, ""))[0],
                counted=counts.get(entry.page, (0, ""))[1],
            )
            for entry in ENTRIES
        ),
        cluster=cluster,
        choices=_choices(request, clusters, by_cluster, shown=cluster, page=page)
        if clusters[1:]
        else (),
        mirror_note=_mirror_note(cluster, troubles, now=now),
        is_mirror_in_trouble=bool(troubles),
    )


def _choices(
    request: HttpRequest,
    clusters: Sequence[Cluster],
    troubles: Mapping[int, Sequence[KindFollowed]],
    *,
    shown: Cluster | None,
    page: str | None,
) -> tuple[ClusterChoice, ...]:
    """Lead from a list to the other cluster's list, from one object to the list it would be in."""
    home = next(
        (entry.page for entry in ENTRIES if page in {entry.page, *entry.detail_pages}), "overview"
    )
    if home == "clusters":
        home = "overview"
    choices = []
    for cluster in clusters:
        with addresses_in(request, cluster.name):
            address = reverse(f"web:{home}")
        choices.append(
            ClusterChoice(
                cluster.name,
                address,
                is_shown=cluster == shown,
                troubles=len(troubles[cluster.pk]),
            )
        )
    return tuple(choices)


def _waiting(request: HttpRequest, cluster: Cluster | None) -> int:
    """Count the pending claims that the person may see; 0 also where that cannot be asked."""
    if cluster is None:
        return 0
    try:
        reader = reader_of(request.user, cluster)
    except RightsUnknownError:
        return 0
    return visible_claims(cluster, reader).filter(state=ClaimState.PENDING).count()


def _conflicts(request: HttpRequest, cluster: Cluster | None, *, now: datetime) -> int:
    """Count the conflicts that somebody has to decide; 0 also where rights are not known."""
    if cluster is None:
        return 0
    try:
        reader = reader_of(request.user, cluster)
    except RightsUnknownError:
        return 0
    found = kinds_and_severities(cluster, namespaces=reader.namespaces, now=now)
    return sum(severity != Severity.INFORMATION for _, severity in found)


def _mirror_note(
    cluster: Cluster | None, troubles: Sequence[KindFollowed], *, now: datetime
) -> str:
    """Say what is not followed, else how old the mirror's least recently confirmed kind is."""
    if cluster is None:
        return "no cluster yet"
    if len(troubles) == 1:
        return f"{troubles[0].plural} not followed"
    if troubles:
        return f"{len(troubles)} kinds not followed"
    cursors = Cursor.objects.filter(cluster=cluster, served=True)
    seen = cursors.aggregate(oldest=Min("last_contact_at"))
    if seen["oldest"] is None:
        return "mirror not filled yet"
    return f"mirror {age_in_words(now - seen['oldest'])} old"
