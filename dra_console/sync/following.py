"""How well each cluster is followed, kind by kind: the one answer for pages, REST and metrics.

Everything is read from rows and leases at the moment of asking, so every process says the
same. What is not known is `None`, never 0.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from dra_console.mirror.models import ApiServer, Cluster, Cursor
from dra_console.sync.followed_rows import cursors_of, leases_held, object_counts
from dra_console.sync.mirrored import MIRRORED
from dra_console.sync.tasks import lease_name

STALE_AFTER: Final = timedelta(minutes=2)
"""API servers send a bookmark about once a minute; two missed ones are a sign."""

FORBIDDEN_STATUS: Final = 403
NOT_FOUND_STATUS: Final = 404


class FollowState(StrEnum):
    """What the mirror does with one kind of one cluster."""

    FOLLOWING = "following"
    CATCHING_UP = "catching-up"
    """It is being listed, for the first time or again."""

    NOT_SERVED = "not-served"
    FORBIDDEN = "forbidden"
    FAILING = "failing"
    SILENT = "silent"
    """Nobody listens, and what was heard last is old; the API server may well be fine."""

    DISABLED = "disabled"

    @property
    def words(self) -> str:
        """Say it as people do."""
        return STATE_WORDS[self]


STATE_WORDS: Final[Mapping[FollowState, str]] = MappingProxyType(
    {
        FollowState.FOLLOWING: "following",
        FollowState.CATCHING_UP: "catching up",
        FollowState.NOT_SERVED: "not served",
        FollowState.FORBIDDEN: "forbidden to us",
        FollowState.FAILING: "failing",
        FollowState.SILENT: "nobody follows",
        FollowState.DISABLED: "disabled",
    }
)

TROUBLES: Final = frozenset({FollowState.FORBIDDEN, FollowState.FAILING, FollowState.SILENT})
"""States that somebody has to do something about."""

OPTIONAL: Final = frozenset({"devicetaintrules"})
"""Kinds that a healthy API server may well not serve (KEP-5055 is behind a gate)."""


@dataclass(frozen=True, slots=True)
class KindFollowed:
    """One kind of one cluster."""

    plural: str
    state: FollowState

    lag: timedelta | None
    """Since the API server last spoke for this kind, bookmarks included; None: it never did."""

    last_event_at: datetime | None
    listed_at: datetime | None
    relists: int
    failures: int

    objects: int | None
    """Mirrored ones; None: never listed."""

    resource_version: str
    error: str
    error_status: int
    """HTTP status of the error; 0: no usable answer came, or there is no error."""

    @property
    def is_trouble(self) -> bool:
        """Tell whether somebody has to do something about it."""
        if self.state is FollowState.NOT_SERVED:
            return self.plural not in OPTIONAL
        return self.state in TROUBLES


@dataclass(frozen=True, slots=True)
class ClusterFollowed:
    """One cluster with all its kinds, in the order of `MIRRORED`."""

    cluster: Cluster
    kinds: tuple[KindFollowed, ...]

    server: ApiServer | None
    """What the API server said when it was last asked; None: it never was."""

    windows_held: int | None
    """Kinds that a worker follows at this moment; None: Redis does not tell."""

    @property
    def troubles(self) -> tuple[KindFollowed, ...]:
        """Return the kinds that somebody has to do something about."""
        return tuple(kind for kind in self.kinds if kind.is_trouble)

    @property
    def is_reachable(self) -> bool | None:
        """Tell whether the API server answered when it was last asked; None: it never was."""
        return None if self.server is None else not self.server.error

    @property
    def lag(self) -> timedelta | None:
        """Return the greatest lag of the kinds that are to be followed; None: one has none."""
        lags = [
            kind.lag
            for kind in self.kinds
            if kind.state not in {FollowState.NOT_SERVED, FollowState.FORBIDDEN}
        ]
        known = [lag for lag in lags if lag is not None]
        return max(known) if known and len(known) == len(lags) else None


def follow_states(clusters: Iterable[Cluster], *, now: datetime) -> tuple[ClusterFollowed, ...]:
    """Read how well these clusters are followed; two queries, and one for each mirrored kind."""
    clusters = tuple(clusters)
    objects = object_counts(clusters)
    cursors = cursors_of(clusters)
    leases = leases_held(clusters)
    servers = {row.cluster_id: row for row in ApiServer.objects.filter(cluster__in=clusters)}
    return tuple(
        ClusterFollowed(
            cluster=cluster,
            kinds=tuple(
                _kind_followed(
                    cluster,
                    plural,
                    cursors[cluster.pk].get(plural),
                    objects=objects[plural].get(cluster.pk, 0),
                    is_held=None if leases is None else lease_name(cluster.pk, plural) in leases,
                    now=now,
                )
                for plural in MIRRORED
            ),
            server=servers.get(cluster.pk),
            windows_held=None
            if leases is None
            else sum(lease_name(cluster.pk, plural) in leases for plural in MIRRORED),
        )
        for cluster in clusters
    )


def troubled_kinds(
    clusters: Sequence[Cluster], *, now: datetime
) -> Mapping[int, tuple[KindFollowed, ...]]:
    """Read which kinds are not followed, by cluster; one query, cheap enough for each page."""
    cursors = cursors_of(clusters)
    leases = leases_held(clusters)
    return {
        cluster.pk: tuple(
            kind
            for plural in MIRRORED
            if (
                kind := _kind_followed(
                    cluster,
                    plural,
                    cursors[cluster.pk].get(plural),
                    objects=None,
                    is_held=None if leases is None else lease_name(cluster.pk, plural) in leases,
                    now=now,
                )
            ).is_trouble
        )
        for cluster in clusters
    }


def _kind_followed(  # noqa: PLR0913 - what is known of one kind
    cluster: Cluster,
    plural: str,
    cursor: Cursor | None,
    *,
    objects: int | None,
    is_held: bool | None,
    now: datetime,
) -> KindFollowed:
    # A cluster that was just added has no cursors until its first window opens.
    cursor = cursor or Cursor(cluster=cluster, plural=plural)
    contact_at = cursor.last_contact_at
    return KindFollowed(
        plural=plural,
        state=_state_of(cluster, cursor, is_held=is_held, now=now),
        lag=None if contact_at is None else max(now - contact_at, timedelta(0)),
        last_event_at=cursor.last_event_at,
        listed_at=cursor.listed_at,
        relists=cursor.relists,
        failures=cursor.failures,
        objects=None if cursor.listed_at is None else objects,
        resource_version=cursor.resource_version,
        error=cursor.error,
        error_status=cursor.error_status,
    )


def _state_of(  # noqa: PLR0911 - one line a state
    cluster: Cluster, cursor: Cursor, *, is_held: bool | None, now: datetime
) -> FollowState:
    if not cluster.enabled:
        return FollowState.DISABLED
    if cursor.error_status == FORBIDDEN_STATUS:
        return FollowState.FORBIDDEN
    if not cursor.served or cursor.error_status == NOT_FOUND_STATUS:
        return FollowState.NOT_SERVED
    if cursor.error:
        return FollowState.FAILING
    contact_at = cursor.last_contact_at
    if contact_at is None and is_held is False:
        return FollowState.SILENT
    if contact_at is not None and now - contact_at > STALE_AFTER and not is_held:
        return FollowState.SILENT
    return FollowState.FOLLOWING if cursor.resource_version else FollowState.CATCHING_UP
