"""What waits under `/api/v1/waitinggroups/`: grouped by what is asked for."""

from collections.abc import Mapping
from typing import Any, ClassVar

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from dra_console.access import rules
from dra_console.allocator.model import Json
from dra_console.api.paging import page_of_items
from dra_console.api.queries import ListQuery, Query
from dra_console.api.viewsets import ClusterViewSet
from dra_console.kube.kinds import RESOURCE_CLAIMS
from dra_console.scheduling.attempts.pending import NOT_TRIED, PendingGroup, pending_groups
from dra_console.scheduling.models import Outcome


class WaitingSerializer(serializers.Serializer[Any]):
    """A pending claim, or a pod that has no claim yet."""

    kind = serializers.CharField(help_text="`Pod` or `ResourceClaim`.")
    namespace = serializers.CharField()
    name = serializers.CharField()
    createdAt = serializers.DateTimeField(source="created_at")


class WaitingGroupSerializer(serializers.Serializer[Any]):
    """Pending claims and pods that ask for the same."""

    signature = serializers.CharField(help_text="Of what is asked for; empty: not tried yet.")
    count = serializers.IntegerField()
    namespaces = serializers.ListField(child=serializers.CharField())
    outcome = serializers.CharField(
        help_text=f"Of the newest attempt; `{NOT_TRIED}` if there is none."
    )
    headline = serializers.CharField(help_text="Of the newest attempt; empty: not tried yet.")
    lastAt = serializers.DateTimeField(source="tried_at", allow_null=True)
    attempt = serializers.IntegerField(
        allow_null=True, help_text="`id` of the newest attempt of the oldest that was tried."
    )
    oldest = WaitingSerializer()


class WaitingGroupQuery(ListQuery):
    """Filters of the list."""

    namespace = serializers.CharField(required=False, help_text="Namespace of what waits.")
    outcome = serializers.ChoiceField(required=False, choices=[*Outcome.values, NOT_TRIED])


class WaitingGroupViewSet(ClusterViewSet):
    """What waits in namespaces whose claims you may list."""

    mirrored_kinds = (RESOURCE_CLAIMS,)
    item_class = WaitingGroupSerializer
    query_classes: ClassVar[Mapping[str, type[Query]]] = {"list": WaitingGroupQuery}

    def list(self, request: Request) -> Response:
        """List groups by signature, a page at a time; the page of the console has them by size."""
        del request
        freshness = self.freshness()
        namespaces = rules.visible_namespaces(self.account, self.cluster, RESOURCE_CLAIMS)
        if wanted := self.query.get("namespace"):
            is_visible = namespaces is None or wanted in namespaces
            namespaces = frozenset({wanted}) if is_visible else frozenset()
        groups = pending_groups(
            self.cluster, namespaces=namespaces, outcome=self.query.get("outcome", "")
        )
        page = page_of_items(sorted(groups, key=_key), key=_key, paging=self.paging(), shape=_shape)
        return self.answer(page.envelope(), freshness=freshness)


def _key(group: PendingGroup) -> tuple[str, ...]:
    return (group.signature,)


def _shape(group: PendingGroup) -> Json:
    shaped: Json = WaitingGroupSerializer(
        {
            "signature": group.signature,
            "count": len(group.members),
            "namespaces": group.namespaces,
            "outcome": group.outcome,
            "headline": group.headline,
            "tried_at": group.tried_at,
            "attempt": group.attempt,
            "oldest": {
                "kind": "Pod" if group.oldest.is_pod else RESOURCE_CLAIMS.kind,
                "namespace": group.oldest.namespace,
                "name": group.oldest.name,
                "created_at": group.oldest.created_at,
            },
        }
    ).data
    return shaped
