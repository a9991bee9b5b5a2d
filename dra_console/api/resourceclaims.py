"""ResourceClaims under `/api/v1/resourceclaims/`, why each one waits, and what was tried."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, ClassVar

from django.db.models import QuerySet, TextField
from django.db.models.functions import Cast
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from dra_console.access import rules
from dra_console.access.redaction import redacted
from dra_console.allocator.errors import AllocatorError
from dra_console.allocator.explanation.explanation import Explanation
from dra_console.allocator.model import JsonObject
from dra_console.allocator.validation.refusals import refuse_claim
from dra_console.allocator.validation.validate import FieldError, validate_claim
from dra_console.api.attempt_shapes import AttemptSerializer, ClaimSchedulingSerializer
from dra_console.api.explanation_shapes import ExplainQuery, ExplanationSerializer, unfolded
from dra_console.api.problems import Problem
from dra_console.api.queries import LabelledQuery, Parsed, Query, WriteQuery
from dra_console.api.releases import released
from dra_console.api.shapes import KubernetesObjectSerializer
from dra_console.api.writable import WritableKindViewSet
from dra_console.kube.kinds import RESOURCE_CLAIMS
from dra_console.mirror.models import ClaimState, Cluster, ResourceClaim
from dra_console.scheduling.models import Attempt, Outcome
from dra_console.scheduling.planning.claim_scheduling import pods_naming, scheduling_of
from dra_console.scheduling.whatif.preview import explain_now


class ResourceClaimSerializer(KubernetesObjectSerializer):
    """A ResourceClaim (resource.k8s.io/v1)."""


class ResourceClaimQuery(LabelledQuery):
    """Filters of the list."""

    namespace = serializers.CharField(required=False, help_text="Namespace of the claim.")
    node = serializers.CharField(
        required=False, help_text="The only node that its allocation allows."
    )
    state = serializers.ChoiceField(required=False, choices=ClaimState.values)

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """Add `class`, which is no name in Python."""
        fields = super().get_fields()
        fields["class"] = serializers.CharField(
            required=False, help_text="A class that one of its requests names."
        )
        return fields


class AttemptsOfClaimSerializer(serializers.Serializer[Any]):
    """What was tried for one claim, newest first."""

    items = AttemptSerializer(many=True)


class ResourceClaimViewSet(WritableKindViewSet[ResourceClaim]):
    """Claims: read, create, delete, explain."""

    kind = RESOURCE_CLAIMS
    mirrored_kinds = (RESOURCE_CLAIMS,)
    model = ResourceClaim
    item_class = ResourceClaimSerializer
    answer_classes: ClassVar[Mapping[str, type[serializers.Serializer[Any]]]] = {
        "explain": ExplanationSerializer,
        "attempts": AttemptsOfClaimSerializer,
        "release": ResourceClaimSerializer,
    }
    guarded_actions = frozenset({"release"})
    query_classes: ClassVar[Mapping[str, type[Query]]] = {
        "list": ResourceClaimQuery,
        "explain": ExplainQuery,
        "create": WriteQuery,
    }

    def narrow(self, rows: QuerySet[ResourceClaim], query: Parsed) -> QuerySet[ResourceClaim]:
        if "namespace" in query:
            rows = rows.filter(namespace=query["namespace"])
        if "node" in query:
            rows = rows.filter(node_name=query["node"])
        if "state" in query:
            rows = rows.filter(state=query["state"])
        if "class" in query:
            # SQLite cannot ask whether a JSON list contains something; names hold no quotes.
            rows = rows.alias(class_text=Cast("class_names", TextField())).filter(
                class_text__contains=f'"{query["class"]}"'
            )
        return rows

    def validate(self, manifest: JsonObject) -> Sequence[FieldError]:
        return (*validate_claim(manifest), *refuse_claim(manifest))

    @action(detail=True)
    def explain(self, request: Request, name: str, namespace: str) -> Response:
        """Say why the claim waits, or where it fits: the numbers of its page."""
        del request
        freshness = self.freshness()
        claim = self.readable_row(name, namespace=namespace)
        latest = (
            None if self.query.get("now") else Attempt.objects.latest_of(self.cluster, claim.uid)
        )
        is_waiting = claim.allocation is None
        # Once it has devices, a try that found none is history (`attempts`), not the answer.
        if latest is not None and (is_waiting or latest.outcome == Outcome.FITS):
            explanation: JsonObject = {**latest.explanation, "asOf": latest.last_at.isoformat()}
        elif is_waiting:
            explanation = {**_explained_now(self.cluster, claim).to_json(), "asOf": None}
        else:
            raise Problem(
                HTTPStatus.NOT_FOUND,
                "no-attempt",
                "This console found no devices for this claim: it was allocated elsewhere.",
            )
        visible = rules.visible_namespaces(self.account, self.cluster, self.kind)
        seen = redacted(explanation, namespaces=visible)
        return self.answer(unfolded(seen, self.query), freshness=freshness)

    @action(detail=True)
    def attempts(self, request: Request, name: str, namespace: str) -> Response:
        """List what was tried for the claim, newest first; kept for a week, at most 20."""
        del request
        freshness = self.freshness()
        claim = self.readable_row(name, namespace=namespace)
        rows = Attempt.objects.of(self.cluster, claim.uid)
        return self.answer(AttemptsOfClaimSerializer({"items": rows}).data, freshness=freshness)

    @action(detail=True, methods=["post"])
    def release(self, request: Request, name: str, namespace: str) -> Response:
        """Take devices back as yourself, where no living consumer has the claim.

        `If-Match` names the version that you saw. Where kube-controller-manager runs it does
        this by itself.
        """
        row = self.readable_row(name, namespace=namespace)
        if_match = request.headers.get("If-Match")
        return Response(released(self.account, row, if_match=if_match))

    @action(detail=True)
    def scheduling(self, request: Request, name: str, namespace: str) -> Response:
        """Say who schedules the claim's pods, what they said, and its place in the queue."""
        del request
        freshness = self.freshness()
        claim = self.readable_row(name, namespace=namespace)
        found = scheduling_of(
            claim,
            pods=pods_naming(claim),
            newest=Attempt.objects.latest_of(self.cluster, claim.uid),
            account=self.account,
        )
        return self.answer(ClaimSchedulingSerializer(found).data, freshness=freshness)


def _explained_now(cluster: Cluster, claim: ResourceClaim) -> Explanation:
    try:
        return explain_now(cluster, claim.raw.get("spec") or {})
    except AllocatorError as error:
        raise Problem(
            HTTPStatus.UNPROCESSABLE_ENTITY,
            "unreadable-object",
            f"Something that the answer depends on cannot be read: {error}",
        ) from error
