"""How well clusters are followed, as words, tones and icons."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Final

from django.urls import reverse

from dra_console.allocator.decoding.versions import served_versions
from dra_console.kube.kinds import RESOURCE_CLAIMS
from dra_console.sync.advice import Advice, advice_for
from dra_console.sync.following import ClusterFollowed, FollowState, KindFollowed
from dra_console.web.presenters.care import Concern
from dra_console.web.presenters.tiles import Look
from dra_console.web.wording import age_in_words, counted


@dataclass(frozen=True, slots=True)
class Sign:
    """A state as a pill shows it."""

    label: str
    tone: str
    """As `.pill` spells it; empty is neutral."""

    icon: str


KIND_SIGNS: Final[Mapping[FollowState, Sign]] = MappingProxyType(
    {
        state: Sign(state.words, tone, icon)
        for state, tone, icon in (
            (FollowState.FOLLOWING, "ok", "circle-check"),
            (FollowState.CATCHING_UP, "held", "hourglass"),
            (FollowState.NOT_SERVED, "", "ban"),
            (FollowState.FORBIDDEN, "sick", "lock"),
            (FollowState.FAILING, "sick", "alert-triangle"),
            (FollowState.SILENT, "warn", "clock"),
            (FollowState.DISABLED, "", "player-pause"),
        )
    }
)


@dataclass(frozen=True, slots=True)
class KindLine:
    """One kind of one cluster."""

    plural: str
    sign: Sign
    lag: timedelta | None
    last_event_at: datetime | None
    listed_at: datetime | None
    relists: int
    failures: int

    objects: str
    """`?` where it was never listed."""

    error: str
    """In full; empty where there is none, or where it may not be seen."""

    is_late: bool
    """True: what is shown of this kind may be old."""


@dataclass(frozen=True, slots=True)
class ClusterLine:
    """One cluster."""

    name: str
    address: str
    sign: Sign
    version: str

    spoken: str
    """The version of resource.k8s.io that the console speaks with it; empty: none is known."""

    also_served: tuple[str, ...]
    """Its other versions of resource.k8s.io."""

    kinds_in_words: str
    lag: timedelta | None
    answered_at: datetime | None
    asked_at: datetime | None


@dataclass(frozen=True, slots=True)
class ClusterPage:
    """One cluster with its kinds, and what to do about it."""

    line: ClusterLine
    kinds: tuple[KindLine, ...]
    advice: tuple[Advice, ...]
    """Empty also where it may not be seen."""

    may_inspect: bool

    username: str
    """Who we are to it; empty: not known, or may not be seen."""

    place: str
    """Where the credentials are; empty: may not be seen."""

    windows: str
    """How many kinds a worker follows right now, in words."""


def cluster_line(followed: ClusterFollowed) -> ClusterLine:
    """Say how one cluster is followed as a whole."""
    server = followed.server
    served = tuple(server.resource_versions) if server else ()
    spoken = _spoken(served)
    states = Counter(kind.state for kind in followed.kinds)
    return ClusterLine(
        name=followed.cluster.name,
        address=reverse("web:cluster", args=[followed.cluster.name]),
        sign=cluster_sign(followed),
        version=server.version if server else "",
        spoken=spoken,
        also_served=tuple(version for version in served if version != spoken),
        kinds_in_words=" · ".join(
            f"{states[state]} {state.words}" for state in FollowState if states[state]
        ),
        lag=followed.lag,
        answered_at=server.answered_at if server else None,
        asked_at=server.asked_at if server else None,
    )


def cluster_page(followed: ClusterFollowed, *, may_inspect: bool) -> ClusterPage:
    """Say everything that this reader may know about following one cluster."""
    cluster, server = followed.cluster, followed.server
    place = cluster.kubeconfig or "the pod's own service account"
    context = f", context {cluster.context}" if cluster.context else ""
    return ClusterPage(
        line=cluster_line(followed),
        kinds=tuple(_kind_line(kind, may_inspect=may_inspect) for kind in followed.kinds),
        advice=advice_for(followed) if may_inspect else (),
        may_inspect=may_inspect,
        username=server.username if server and may_inspect else "",
        place=f"{place}{context}" if may_inspect else "",
        windows="not known: Redis does not answer"
        if followed.windows_held is None
        else f"{followed.windows_held} of {len(followed.kinds)} kinds",
    )


def cluster_sign(followed: ClusterFollowed) -> Sign:
    """Say in a few words whether a cluster is followed."""
    if not followed.cluster.enabled:
        return KIND_SIGNS[FollowState.DISABLED]
    if followed.is_reachable is False:
        return Sign("does not answer", "sick", "alert-triangle")
    if troubles := followed.troubles:
        is_quiet = all(kind.state is FollowState.SILENT for kind in troubles)
        words = f"{counted(len(troubles), 'kind')} not followed"
        return Sign(words, "warn" if is_quiet else "sick", "alert-triangle")
    if any(kind.state is FollowState.CATCHING_UP for kind in followed.kinds):
        return KIND_SIGNS[FollowState.CATCHING_UP]
    return Sign("followed", "ok", "circle-check")


def following_concerns(kinds: Iterable[KindFollowed], *, cluster_name: str) -> list[Concern]:
    """List the kinds that are not followed, for the overview."""
    return [
        Concern(
            look=Look.WARN if kind.state is FollowState.SILENT else Look.SICK,
            sign="mirror",
            headline=f"{kind.plural} of {cluster_name}: {kind.state.words}",
            detail="never heard of"
            if kind.lag is None
            else f"heard of {age_in_words(kind.lag)} ago; what pages show of it may be old",
            address=reverse("web:cluster", args=[cluster_name]),
        )
        for kind in kinds
    ]


def _kind_line(kind: KindFollowed, *, may_inspect: bool) -> KindLine:
    return KindLine(
        plural=kind.plural,
        sign=KIND_SIGNS[kind.state],
        lag=kind.lag,
        last_event_at=kind.last_event_at,
        listed_at=kind.listed_at,
        relists=kind.relists,
        failures=kind.failures,
        objects="?" if kind.objects is None else str(kind.objects),
        error=kind.error if may_inspect else "",
        is_late=kind.is_trouble,
    )


def _spoken(served: Iterable[str]) -> str:
    """Return the newest version that both sides know."""
    known = (spelled.rpartition("/")[2] for spelled in served_versions(RESOURCE_CLAIMS.kind))
    return next((version for version in known if version in served), "")
