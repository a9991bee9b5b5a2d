"""Attempts under `/api/v1/attempts/`: what was tried for pods and claims, and what differs."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django.db.models import QuerySet, TextField
from django.db.models.functions import Cast
from django.http import Http404
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from dra_console.access import rules
from dra_console.access.redaction import redacted
from dra_console.allocator.model import Json
from dra_console.api.addresses import NUMBERED
from dra_console.api.attempt_shapes import (
    AttemptDetailSerializer,
    AttemptQuery,
    AttemptSerializer,
    CompareQuery,
    ComparisonSerializer,
)
from dra_console.api.explanation_shapes import UnfoldQuery, unfolded
from dra_console.api.paging import page_of_rows
from dra_console.api.queries import Query
from dra_console.api.viewsets import ClusterViewSet
from dra_console.kube.kinds import RESOURCE_CLAIMS, RESOURCE_SLICES
from dra_console.scheduling.attempts.between import changes_between
from dra_console.scheduling.attempts.comparison import compare, facts_of
from dra_console.scheduling.models import Attempt

CHANGES_LISTED = 100


class AttemptViewSet(ClusterViewSet):
    """What was tried for pods and claims of namespaces whose claims you may list."""

    mirrored_kinds = (RESOURCE_CLAIMS,)
    lookup_pattern = NUMBERED
    item_class = AttemptSerializer
    answer_classes: ClassVar[Mapping[str, type[serializers.Serializer[Any]]]] = {
        "retrieve": AttemptDetailSerializer,
        "compare": ComparisonSerializer,
    }
    query_classes: ClassVar[Mapping[str, type[Query]]] = {
        "list": AttemptQuery,
        "retrieve": UnfoldQuery,
        "compare": CompareQuery,
    }

    def list(self, request: Request) -> Response:
        """List attempts, those that first said something new last; kept for a week at most."""
        del request
        freshness = self.freshness()
        page = page_of_rows(
            self._narrowed(self._visible()), columns=("-pk",), paging=self.paging(), shape=_shape
        )
        return self.answer(page.envelope(), freshness=freshness)

    def retrieve(self, request: Request, number: str) -> Response:
        """Read one attempt with its explanation."""
        del request
        freshness = self.freshness()
        attempt = self._attempt(number)
        explanation: dict[str, Json] = {
            **redacted(attempt.explanation, namespaces=self._namespaces()),
            "asOf": attempt.last_at.isoformat(),
        }
        body = {
            **AttemptSerializer(attempt).data,
            "explanation": unfolded(explanation, self.query),
        }
        return self.answer(body, freshness=freshness)

    @action(detail=True)
    def compare(self, request: Request, number: str) -> Response:
        """Say what differs between two attempts for the same pod or claim."""
        del request
        freshness = self.freshness()
        one, other = self._attempt(number), self._attempt(self.query["with"])
        if one.subject_uid != other.subject_uid:
            raise Http404
        older, newer = sorted((one, other), key=lambda each: each.pk)
        namespaces = self._namespaces()
        before, after = (
            facts_of(redacted(each.explanation, namespaces=namespaces)) for each in (older, newer)
        )
        changes = changes_between(
            self.cluster,
            after=older.last_at,
            until=newer.last_at,
            own_uids=newer.claims.values_list("claim_uid", flat=True),
            namespaces=namespaces,
            sees_inventory=rules.may(self.account, self.cluster, "list", RESOURCE_SLICES),
        )
        told = {
            "older": older.pk,
            "newer": newer.pk,
            "comparison": compare(before, after),
            "changes": changes[:CHANGES_LISTED],
            "more_changes": max(changes.count() - CHANGES_LISTED, 0),
        }
        return self.answer(ComparisonSerializer(told).data, freshness=freshness)

    def _namespaces(self) -> frozenset[str] | None:
        return rules.visible_namespaces(self.account, self.cluster, RESOURCE_CLAIMS)

    def _visible(self) -> QuerySet[Attempt]:
        attempts = Attempt.objects.filter(cluster=self.cluster)
        namespaces = self._namespaces()
        return attempts if namespaces is None else attempts.filter(namespace__in=namespaces)

    def _attempt(self, number: str | int) -> Attempt:
        found = self._visible().select_related("kept").filter(pk=int(number)).first()
        if found is None:
            raise Http404
        return found

    def _narrowed(self, attempts: QuerySet[Attempt]) -> QuerySet[Attempt]:
        query = self.query
        columns = {"namespace": "namespace", "pod": "pod_name", "outcome": "outcome"}
        wanted = {column: query[name] for name, column in columns.items() if name in query}
        attempts = attempts.filter(**wanted)
        if "claim" in query:
            # SQLite cannot ask whether a JSON list contains something; names hold no quotes.
            attempts = attempts.alias(names=Cast("claim_names", TextField())).filter(
                names__contains=f'"{query["claim"]}"'
            )
        if "since" in query:
            attempts = attempts.filter(last_at__gte=query["since"])
        if query.get("newest"):
            attempts = attempts.filter(is_newest=True)
        return attempts


def _shape(attempt: Attempt) -> Json:
    shaped: Json = AttemptSerializer(attempt).data
    return shaped
