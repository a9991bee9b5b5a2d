"""The queue under `/api/v1/queue/`: who waits for this console, in order."""

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
from dra_console.kube.kinds import PODS, RESOURCE_CLAIMS
from dra_console.scheduling.attempts.pending import NOT_TRIED
from dra_console.scheduling.models import Attempt
from dra_console.scheduling.planning.queue_of import InQueue, Standing, queue_of


class QueuePlaceSerializer(serializers.Serializer[Any]):
    """One place in the queue."""

    place = serializers.IntegerField(help_text="1 is next; all namespaces count.")
    kind = serializers.CharField(
        help_text="`Pod`, or `ResourceClaim` for one that is to be reserved ahead."
    )
    namespace = serializers.CharField()
    name = serializers.CharField()
    priority = serializers.IntegerField()
    createdAt = serializers.DateTimeField()
    claims = serializers.ListField(child=serializers.CharField())
    outcome = serializers.CharField(
        help_text=f"Of the newest attempt; `{NOT_TRIED}` if there is none."
    )
    headline = serializers.CharField(help_text="Of the newest attempt; empty: not tried yet.")
    lastAt = serializers.DateTimeField(allow_null=True, help_text="Of the newest attempt.")
    standing = serializers.ChoiceField(
        choices=[each.value for each in Standing],
        help_text="`next`: tried in its turn; `backing-off`: not before `nextTryAt`; `for-change`:"
        " when something changes that may let it fit; `unknown`: nobody knows.",
    )
    tries = serializers.IntegerField(help_text="In vain, since it came or changed.")
    nextTryAt = serializers.DateTimeField(allow_null=True, help_text="Not tried before it.")
    reason = serializers.CharField(help_text="Why the last try was in vain; may be empty.")


class QueueQuery(ListQuery):
    """Filters of the list."""

    namespace = serializers.CharField(required=False, help_text="Namespace of pod or claim.")


class QueueViewSet(ClusterViewSet):
    """Who waits for this console; other schedulers do not tell their order."""

    mirrored_kinds = (RESOURCE_CLAIMS, PODS)
    item_class = QueuePlaceSerializer
    query_classes: ClassVar[Mapping[str, type[Query]]] = {"list": QueueQuery}

    def list(self, request: Request) -> Response:
        """List the places of pods and claims in namespaces whose claims you may list."""
        del request
        freshness = self.freshness()
        visible = rules.visible_namespaces(self.account, self.cluster, RESOURCE_CLAIMS)
        wanted = self.query.get("namespace")
        places = [
            one
            for one in queue_of(self.cluster, namespaces=visible)
            if wanted in {None, one.line.namespace}
        ]
        attempts = {
            attempt.subject_uid: attempt
            for attempt in Attempt.objects.filter(
                cluster=self.cluster,
                is_newest=True,
                namespace__in={one.line.namespace for one in places},
            ).only("subject_uid", "outcome", "headline", "last_at")
        }
        page = page_of_items(
            places,
            key=lambda one: (f"{one.place:010}",),
            paging=self.paging(),
            shape=lambda one: _shape(one, attempts.get(one.line.uid)),
        )
        return self.answer(page.envelope(), freshness=freshness)


def _shape(one: InQueue, attempt: Attempt | None) -> Json:
    line = one.line
    shaped: Json = QueuePlaceSerializer(
        {
            "place": one.place,
            "kind": (PODS if line.is_pod else RESOURCE_CLAIMS).kind,
            "namespace": line.namespace,
            "name": line.name,
            "priority": line.priority,
            "createdAt": line.created_at,
            "claims": line.claim_names,
            "outcome": attempt.outcome if attempt else NOT_TRIED,
            "headline": attempt.headline if attempt else "",
            "lastAt": attempt.last_at if attempt else None,
            "standing": one.standing.value,
            "tries": one.tries,
            "nextTryAt": one.next_try_at,
            "reason": one.reason,
        }
    ).data
    return shaped
