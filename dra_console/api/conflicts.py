"""Conflicts under `/api/v1/conflicts/`: devices given twice, stuck claims, and the like."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, ClassVar

from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from dra_console.access import rules
from dra_console.allocator.model import Json
from dra_console.api.paging import page_of_items
from dra_console.api.queries import ClusterQuery, ListQuery, Query
from dra_console.api.viewsets import ClusterViewSet
from dra_console.kube.kinds import RESOURCE_CLAIMS, RESOURCE_SLICES
from dra_console.mirror.clock import database_now
from dra_console.scheduling.coexistence.findings import FindingKind, Severity
from dra_console.scheduling.coexistence.telling import counts_of, told, told_conflicts
from dra_console.scheduling.models import Conflict, ConflictCheck

KINDS = [kind.value for kind in FindingKind]


class ConflictClaimSerializer(serializers.Serializer[Any]):
    """A claim that it concerns."""

    namespace = serializers.CharField()
    name = serializers.CharField()
    uid = serializers.CharField()
    note = serializers.CharField(help_text="What of it is concerned; may be empty.")


class ConflictPodSerializer(serializers.Serializer[Any]):
    """A consumer that it concerns."""

    namespace = serializers.CharField()
    name = serializers.CharField()
    note = serializers.CharField(help_text="Its state, in words.")
    exists = serializers.BooleanField()


class ConflictDeviceSerializer(serializers.Serializer[Any]):
    """A device."""

    driver = serializers.CharField()
    pool = serializers.CharField()
    device = serializers.CharField()


class ConflictSerializer(serializers.Serializer[Any]):
    """One finding that stands."""

    kind = serializers.ChoiceField(choices=KINDS)
    severity = serializers.ChoiceField(
        choices=[severity.value for severity in Severity],
        help_text="`harm`: workloads are or may be broken by it now. `attention`: somebody has to"
        " decide. `information`: nothing has to be done.",
    )
    since = serializers.DateTimeField(help_text="Since when it stands, or was first seen.")
    headline = serializers.CharField()
    detail = serializers.CharField(help_text="May be empty.")
    todo = serializers.CharField(help_text="What to do, in one sentence.")
    claims = ConflictClaimSerializer(many=True, help_text="Those that you may list.")
    hiddenClaims = serializers.IntegerField(
        source="hidden_claims", help_text="Claims of namespaces in which you may list none."
    )
    pods = ConflictPodSerializer(many=True)
    pool = serializers.CharField(help_text="`driver/pool`; empty: it is about no one pool.")
    device = ConflictDeviceSerializer(allow_null=True)
    mayBeReleased = serializers.BooleanField(
        source="may_be_released",
        help_text="Whether `resourceclaims/{namespace}/{name}/release` would end it.",
    )


class ConflictQuery(ListQuery):
    """Filters of the list."""

    kind = serializers.ChoiceField(required=False, choices=KINDS)
    severity = serializers.ChoiceField(
        required=False, choices=[severity.value for severity in Severity]
    )
    namespace = serializers.CharField(required=False, help_text="Of one of its claims.")


class ConflictCountSerializer(serializers.Serializer[Any]):
    """How many findings of a kind you may know of."""

    kind = serializers.ChoiceField(choices=KINDS)
    count = serializers.IntegerField()


class ConflictSummarySerializer(serializers.Serializer[Any]):
    """What was found in all, and what was looked at."""

    counts = ConflictCountSerializer(many=True, help_text="Kinds without any are left out.")
    checkedAt = serializers.DateTimeField(allow_null=True, help_text="Null: not looked yet.")
    claims = serializers.IntegerField(
        allow_null=True, help_text="Claims looked at: allocated, or being deleted."
    )
    devices = serializers.IntegerField(allow_null=True, help_text="Null: not known.")
    unknownKinds = serializers.ListField(
        child=serializers.CharField(),
        help_text="Kinds that are not mirrored; nothing is said that depends on them.",
    )
    leftOut = serializers.IntegerField(help_text="Findings beyond the 2000 kept of each kind.")


class ConflictViewSet(ClusterViewSet):
    """What conflicts where several parties allocate, and claims that do not end."""

    mirrored_kinds = (RESOURCE_CLAIMS, RESOURCE_SLICES)
    item_class = ConflictSerializer
    query_classes: ClassVar[Mapping[str, type[Query]]] = {
        "list": ConflictQuery,
        "summary": ClusterQuery,
    }
    answer_classes: ClassVar[Mapping[str, type[serializers.Serializer[Any]]]] = {
        "summary": ConflictSummarySerializer
    }

    def list(self, request: Request) -> Response:
        """List findings that concern a claim which you may list, the worst kinds first."""
        del request
        freshness = self.freshness()
        namespaces = rules.visible_namespaces(self.account, self.cluster, RESOURCE_CLAIMS)
        rows = told_conflicts(self.cluster, namespaces=namespaces, now=database_now())
        page = page_of_items(
            [row for row in rows if self._is_wanted(row)],
            key=_key,
            paging=self.paging(),
            shape=lambda row: _shape(row, namespaces=namespaces),
        )
        return self.answer(page.envelope(), freshness=freshness)

    @action(detail=False)
    def summary(self, request: Request) -> Response:
        """Count findings by kind, and tell when was looked and at how much."""
        del request
        freshness = self.freshness()
        namespaces = rules.visible_namespaces(self.account, self.cluster, RESOURCE_CLAIMS)
        rows = told_conflicts(self.cluster, namespaces=namespaces, now=database_now())
        check = ConflictCheck.objects.filter(cluster=self.cluster).first()
        summary = {
            "counts": [
                {"kind": kind.value, "count": count} for kind, count in counts_of(rows).items()
            ],
            "checkedAt": check.checked_at if check else None,
            "claims": check.claims if check else None,
            "devices": check.devices if check else None,
            "unknownKinds": check.unknown_kinds if check else [],
            "leftOut": check.left_out if check else 0,
        }
        return self.answer(ConflictSummarySerializer(summary).data, freshness=freshness)

    def _is_wanted(self, row: Conflict) -> bool:
        wanted = self.query.get("namespace")
        columns = {"kind": row.kind, "severity": row.severity}
        return (wanted is None or wanted in row.namespaces) and all(
            self.query.get(name, value) == value for name, value in columns.items()
        )


def _shape(row: Conflict, *, namespaces: frozenset[str] | None) -> Json:
    one = told(row, namespaces=namespaces)
    shaped: Json = ConflictSerializer(
        {
            "kind": one.kind.value,
            "severity": one.severity.value,
            "since": one.since,
            "headline": one.headline,
            "detail": one.detail,
            "todo": one.todo,
            "claims": [asdict(claim) for claim in one.claims],
            "hidden_claims": one.hidden_claims,
            "pods": [asdict(pod) for pod in one.pods],
            "pool": one.pool,
            "device": one.device._asdict() if one.device else None,
            "may_be_released": one.may_be_released,
        }
    ).data
    return shaped


def _key(row: Conflict) -> tuple[str, ...]:
    return (f"{KINDS.index(row.kind):02}", row.since.isoformat(), f"{row.pk:020}")
