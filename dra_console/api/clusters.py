"""Clusters under `/api/v1/clusters/`: how well each of them is followed, kind by kind."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar

from django.http import Http404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from dra_console.access.inspection import may_inspect
from dra_console.allocator.model import Json
from dra_console.api.paging import page_of_items
from dra_console.api.queries import PageQuery, Query
from dra_console.api.viewsets import ConsoleViewSet
from dra_console.mirror.clock import database_now
from dra_console.mirror.clusters import cluster_named
from dra_console.mirror.models import Cluster
from dra_console.sync.advice import Advice, advice_for
from dra_console.sync.following import ClusterFollowed, FollowState, KindFollowed, follow_states

FOR_OPERATORS = "Null: only operators, and who may list nodes there, may see it."


@dataclass(frozen=True, slots=True)
class KindAnswer:
    """How one kind is followed, as one reader may see it."""

    kind: KindFollowed
    error: str | None

    @property
    def is_served(self) -> bool:
        """Tell whether the console can have this kind at all."""
        return self.kind.state not in {FollowState.NOT_SERVED, FollowState.FORBIDDEN}

    @property
    def lag_seconds(self) -> float | None:
        """Return the lag to a tenth of a second."""
        return _seconds(self.kind.lag)


@dataclass(frozen=True, slots=True)
class ClusterAnswer:
    """A cluster as one reader may see it."""

    followed: ClusterFollowed
    kinds: tuple[KindAnswer, ...]
    username: str | None
    server_error: str | None
    advice: tuple[Advice, ...] | None

    @property
    def lag_seconds(self) -> float | None:
        """Return the lag to a tenth of a second."""
        return _seconds(self.followed.lag)


class KindSerializer(serializers.Serializer[Any]):
    """How one kind is followed."""

    plural = serializers.CharField(source="kind.plural")
    state = serializers.ChoiceField(
        choices=[state.value for state in FollowState], source="kind.state"
    )
    served = serializers.BooleanField(
        source="is_served", help_text="False: not served, or forbidden to the console."
    )
    lagSeconds = serializers.FloatField(
        source="lag_seconds",
        allow_null=True,
        help_text="Since the API server last spoke for this kind; null: never.",
    )
    lastEventAt = serializers.DateTimeField(source="kind.last_event_at", allow_null=True)
    listedAt = serializers.DateTimeField(source="kind.listed_at", allow_null=True)
    relists = serializers.IntegerField(source="kind.relists")
    failures = serializers.IntegerField(source="kind.failures", help_text="Windows that broke off.")
    objects = serializers.IntegerField(
        source="kind.objects", allow_null=True, help_text="Mirrored objects; null: never listed."
    )
    resourceVersion = serializers.CharField(source="kind.resource_version")
    error = serializers.CharField(
        allow_null=True, help_text=f"The last failure; empty after a success. {FOR_OPERATORS}"
    )


class AdviceSerializer(serializers.Serializer[Any]):
    """One thing to do where a kind is not followed."""

    headline = serializers.CharField()
    text = serializers.CharField()
    snippet = serializers.CharField(help_text="What to apply or to run; may be empty.")


class ClusterSerializer(serializers.Serializer[Any]):
    """One cluster."""

    name = serializers.CharField(source="followed.cluster.name")
    enabled = serializers.BooleanField(source="followed.cluster.enabled")
    reachable = serializers.BooleanField(
        source="followed.is_reachable",
        allow_null=True,
        help_text="Whether its API server answered when it was last asked; null: never asked.",
    )
    askedAt = serializers.DateTimeField(
        source="followed.server.asked_at", allow_null=True, default=None
    )
    answeredAt = serializers.DateTimeField(
        source="followed.server.answered_at", allow_null=True, default=None
    )
    version = serializers.CharField(
        source="followed.server.version", default="", help_text="Empty: not known."
    )
    resourceVersions = serializers.ListField(
        child=serializers.CharField(),
        source="followed.server.resource_versions",
        allow_null=True,
        default=None,
        help_text="Versions of resource.k8s.io that it serves; null: not known.",
    )
    lagSeconds = serializers.FloatField(
        source="lag_seconds",
        allow_null=True,
        help_text="The greatest of its kinds; null: one was never heard of.",
    )
    windowsHeld = serializers.IntegerField(
        source="followed.windows_held",
        allow_null=True,
        help_text="Kinds that a worker follows at this moment; null: Redis does not tell.",
    )
    kinds = KindSerializer(many=True)
    username = serializers.CharField(
        allow_null=True, help_text=f"Who the console is there; empty: not known. {FOR_OPERATORS}"
    )
    serverError = serializers.CharField(
        source="server_error",
        allow_null=True,
        help_text=f"Why the API server gave no answer; empty after one. {FOR_OPERATORS}",
    )
    advice = AdviceSerializer(many=True, allow_null=True, help_text=f"What to do. {FOR_OPERATORS}")


class ClustersViewSet(ConsoleViewSet):
    """Clusters: whether they answer, what they speak, and how well each kind is followed."""

    item_class = ClusterSerializer
    query_classes: ClassVar[Mapping[str, type[Query]]] = {"list": PageQuery, "retrieve": Query}

    def list(self, request: Request) -> Response:
        """List clusters by name, disabled ones too, a page at a time."""
        del request
        followed = follow_states(Cluster.objects.order_by("name"), now=database_now())
        page = page_of_items(followed, key=_key, paging=self.paging(), shape=self._shape)
        return Response(page.envelope())

    def retrieve(self, request: Request, name: str) -> Response:
        """Read one cluster."""
        del request
        row = cluster_named(name)
        if row is None:
            raise Http404
        [followed] = follow_states([row], now=database_now())
        return Response(self._shape(followed))

    def _shape(self, followed: ClusterFollowed) -> Json:
        sees_all = may_inspect(self.account, followed.cluster, is_reachable=followed.is_reachable)
        shaped: Json = ClusterSerializer(_answer(followed, sees_all=sees_all)).data
        return shaped


def _answer(followed: ClusterFollowed, *, sees_all: bool) -> ClusterAnswer:
    server = followed.server
    return ClusterAnswer(
        followed=followed,
        kinds=tuple(KindAnswer(kind, kind.error if sees_all else None) for kind in followed.kinds),
        username=(server.username if server else "") if sees_all else None,
        server_error=(server.error if server else "") if sees_all else None,
        advice=advice_for(followed) if sees_all else None,
    )


def _seconds(length: timedelta | None) -> float | None:
    return None if length is None else round(length.total_seconds(), 1)


def _key(followed: ClusterFollowed) -> tuple[str, ...]:
    return (followed.cluster.name,)
