"""The shapes of attempts, of what differs between two, and of what waits."""

from typing import Any

from rest_framework import serializers

from dra_console.api.explanation_shapes import ExplanationSerializer, UnfoldQuery
from dra_console.api.queries import ListQuery
from dra_console.scheduling.attempts.cluster_reason import Agreement
from dra_console.scheduling.models import Outcome


class AttemptSerializer(serializers.Serializer[Any]):
    """One try, or several that said the same."""

    id = serializers.IntegerField(source="pk")
    namespace = serializers.CharField()
    pod = serializers.CharField(source="pod_name", help_text="Pod that it was tried for, if any.")
    claims = serializers.ListField(
        source="claim_names",
        child=serializers.CharField(),
        help_text="Claims that were tried together, in the pod's order; empty: none is made yet.",
    )
    outcome = serializers.ChoiceField(choices=Outcome.values)
    headline = serializers.CharField()
    node = serializers.CharField(source="node_name", help_text="Empty unless it fits.")
    steps = serializers.IntegerField()
    startedAt = serializers.DateTimeField(source="started_at")
    lastAt = serializers.DateTimeField(source="last_at")
    repeats = serializers.IntegerField(
        help_text="Further tries that said the same, counted every 5 s at most."
    )
    isNewest = serializers.BooleanField(source="is_newest", help_text="Of its pod or claim.")
    signature = serializers.CharField(help_text="Equal where the same is asked for; may be empty.")


class AttemptDetailSerializer(AttemptSerializer):
    """One attempt with its explanation."""

    explanation = ExplanationSerializer()


class AttemptQuery(ListQuery):
    """Filters of the list."""

    namespace = serializers.CharField(required=False, help_text="Namespace of pod and claims.")
    claim = serializers.CharField(required=False, help_text="Name of one of the claims.")
    pod = serializers.CharField(required=False, help_text="Name of the pod.")
    outcome = serializers.ChoiceField(required=False, choices=Outcome.values)
    since = serializers.DateTimeField(required=False, help_text="Last said at this time or later.")
    newest = serializers.BooleanField(
        required=False, help_text="`true`: only the newest of each pod or claim."
    )


class CompareQuery(UnfoldQuery):
    """The other one of two attempts."""

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """Have `with`, which is no name in Python, and no unfolding."""
        cluster = super().get_fields()["cluster"]
        other = serializers.IntegerField(
            min_value=1, max_value=2**63 - 1, help_text="`id` of another attempt for the same."
        )
        return {"cluster": cluster, "with": other}


class SentenceChangeSerializer(serializers.Serializer[Any]):
    """A sentence before and after; empty where there was none."""

    name = serializers.CharField(help_text="`outcome`, `headline` or `node`.")
    before = serializers.CharField()
    after = serializers.CharField()


class ReasonChangeSerializer(serializers.Serializer[Any]):
    """A reason that holds for another number of devices."""

    verdict = serializers.CharField(source="reason.verdict")
    evidence = serializers.CharField(source="reason.evidence")
    request = serializers.CharField(source="reason.request")
    before = serializers.IntegerField(help_text="0: the reason is new.")
    after = serializers.IntegerField(help_text="0: the reason is gone.")


class StandingSerializer(serializers.Serializer[Any]):
    """What is said of a node."""

    reason = serializers.CharField()
    summary = serializers.CharField()


class NodeChangeSerializer(serializers.Serializer[Any]):
    """Nodes that went from one standing to another; null: they were not listed."""

    names = serializers.ListField(child=serializers.CharField())
    before = StandingSerializer(allow_null=True)
    after = StandingSerializer(allow_null=True)


class HolderChangeSerializer(serializers.Serializer[Any]):
    """A claim that holds another number of devices that would do."""

    claim = serializers.CharField(help_text="`namespace/name`, or `another namespace`.")
    before = serializers.IntegerField()
    after = serializers.IntegerField()


class ObjectChangeSerializer(serializers.Serializer[Any]):
    """What happened to an object between the two attempts."""

    at = serializers.DateTimeField(source="seen_at")
    plural = serializers.CharField()
    namespace = serializers.CharField()
    name = serializers.CharField()
    happened = serializers.CharField()


class ComparisonSerializer(serializers.Serializer[Any]):
    """What the newer of two attempts says otherwise; the largest differences come first."""

    older = serializers.IntegerField(help_text="`id` of the older attempt.")
    newer = serializers.IntegerField(help_text="`id` of the newer attempt.")
    isEqual = serializers.BooleanField(source="comparison.is_empty")
    sentences = SentenceChangeSerializer(source="comparison.sentences", many=True)
    reasons = ReasonChangeSerializer(source="comparison.reasons", many=True)
    nodes = NodeChangeSerializer(source="comparison.nodes", many=True)
    holders = HolderChangeSerializer(source="comparison.holders", many=True)
    adviceNew = serializers.ListField(source="comparison.advice_new", child=serializers.CharField())
    adviceGone = serializers.ListField(
        source="comparison.advice_gone", child=serializers.CharField()
    )
    changes = ObjectChangeSerializer(
        many=True, help_text="The newest 100 changes of claims, slices and classes in between."
    )
    moreChanges = serializers.IntegerField(source="more_changes")


class SaidSerializer(serializers.Serializer[Any]):
    """A sentence of the cluster."""

    reason = serializers.CharField()
    message = serializers.CharField()
    since = serializers.CharField(help_text="As the API server writes it; empty: not told.")
    source = serializers.CharField(help_text="Who said it; empty: not told.")  # type: ignore[assignment]  # Kubernetes' name; DRF takes declared fields off the class
    times = serializers.IntegerField()


class PodSchedulingSerializer(serializers.Serializer[Any]):
    """What the cluster says of one pod that waits."""

    pod = serializers.CharField(source="pod.name")
    schedulerName = serializers.CharField(source="reason.scheduler_name")
    nominatedNodeName = serializers.CharField(source="reason.nominated_node_name")
    condition = SaidSerializer(
        source="reason.condition", allow_null=True, help_text="`PodScheduled`, if it is False."
    )
    events = SaidSerializer(
        source="failures",
        many=True,
        allow_null=True,
        help_text="`FailedScheduling`, newest first; null: not known.",
    )
    eventsUnknown = serializers.CharField(
        source="failures_unknown", help_text="Why events are not known."
    )
    agreement = serializers.ChoiceField(
        choices=[each.value for each in Agreement],
        help_text="Whether the cluster gives the reason that the newest attempt gives.",
    )


class ClaimSchedulingSerializer(serializers.Serializer[Any]):
    """Who schedules a claim's pods, and where they stand in line."""

    place = serializers.CharField(help_text="In words; where no order is defined it says so.")
    pods = PodSchedulingSerializer(many=True, help_text="Pods that wait; the oldest three.")
    morePods = serializers.IntegerField(source="more_pods")
