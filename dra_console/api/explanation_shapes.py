"""The shape of an explanation in the OpenAPI document, and what can be asked of one.

The shape itself is written by `allocator.explanation.folding` and `unfolding`.
"""

from itertools import islice
from typing import Any

from rest_framework import serializers

from dra_console.allocator.explanation.unfolding import node_rows
from dra_console.allocator.explanation.verdicts import Verdict
from dra_console.allocator.model import Json, JsonObject
from dra_console.api.queries import ClusterQuery, Parsed

NODE_ROWS = 100
NODE_ROWS_CAP = 5_000
"""Nodes that an explanation unfolds into one row a device: by default, and at most."""


class VerdictSerializer(serializers.Serializer[Any]):
    """What is said of several devices."""

    verdict = serializers.ChoiceField(choices=[verdict.value for verdict in Verdict])
    evidence = serializers.CharField()
    request = serializers.CharField(allow_null=True, help_text="Request that it was judged by.")


class CountedVerdictSerializer(VerdictSerializer):
    """A verdict with how many devices of the group have it."""

    count = serializers.IntegerField()


class NodeGroupSerializer(serializers.Serializer[Any]):
    """Nodes of which the same is to be said, device by device."""

    names = serializers.ListField(
        child=serializers.CharField(), help_text="Empty: devices that stand at no single node."
    )
    reason = serializers.CharField(help_text="A verdict, `fits` or `count`.")
    summary = serializers.CharField()
    verdicts = CountedVerdictSerializer(many=True)
    devices = serializers.ListField(
        child=serializers.CharField(),
        allow_null=True,
        help_text="`driver/pool/device` of each node; among several, `*` is the node's name. "
        "null: counted only.",
    )
    judged = serializers.ListField(
        child=serializers.IntegerField(),
        allow_null=True,
        help_text="For each of `devices` its place in `verdicts`.",
    )


class HoldingClaimSerializer(serializers.Serializer[Any]):
    """A claim that has a device."""

    namespace = serializers.CharField()
    name = serializers.CharField()


class DeviceRowSerializer(VerdictSerializer):
    """One device with its verdict."""

    driver = serializers.CharField()
    pool = serializers.CharField()
    device = serializers.CharField()
    holder = HoldingClaimSerializer(allow_null=True)


class NodeRowSerializer(serializers.Serializer[Any]):
    """One node, unfolded."""

    name = serializers.CharField(allow_blank=True, help_text="Empty: no single node.")
    reason = serializers.CharField()
    summary = serializers.CharField()
    devices = DeviceRowSerializer(many=True, allow_null=True, help_text="null: counted only.")


class TogetherSerializer(serializers.Serializer[Any]):
    """Devices that are free one by one, and why none of them helps."""

    free = serializers.IntegerField()
    fit = serializers.IntegerField(help_text="How many of them fit together: 0.")
    node = serializers.CharField(help_text="The node that came closest.")
    reason = serializers.CharField()
    evidence = serializers.CharField()
    limit = serializers.CharField(help_text="The evidence in a few words.")


class SuggestionSerializer(serializers.Serializer[Any]):
    """One change that makes it fit."""

    text = serializers.CharField()
    detail = serializers.CharField()
    holder = serializers.JSONField(allow_null=True, help_text="Claim to wait for, if visible.")
    patches = serializers.JSONField(help_text="JSON patches (RFC 6902) by claim.")


class UnfoldQuery(ClusterQuery):
    """What of an explanation is unfolded."""

    node = serializers.CharField(required=False, help_text="The only node whose row is wanted.")
    limit = serializers.IntegerField(
        required=False,
        min_value=0,
        max_value=NODE_ROWS_CAP,
        default=NODE_ROWS,
        help_text="Rows in `nodes`, at most; `groups` always has all nodes.",
    )


class ExplainQuery(UnfoldQuery):
    """What of an explanation is unfolded, and from when it is."""

    now = serializers.BooleanField(
        required=False,
        help_text="`true`: worked out for this answer, every device listed by name.",
    )


def unfolded(explanation: JsonObject, query: Parsed) -> JsonObject:
    """Add `nodes`, one row for each of the nodes that are asked for."""
    names = frozenset({query["node"]}) if "node" in query else None
    rows: list[Json] = [*islice(node_rows(explanation, names=names), query["limit"])]
    return {**explanation, "nodes": rows}


class ExplanationSerializer(serializers.Serializer[Any]):
    """Why the claim fits or does not; the funnel's nine verdicts add up to `considered`."""

    asOf = serializers.DateTimeField(
        allow_null=True, help_text="When it was last tried; null: worked out for this answer."
    )
    outcome = serializers.ChoiceField(choices=["fits", "does-not-fit", "broken", "budget", "waits"])
    headline = serializers.CharField()
    detail = serializers.CharField(allow_blank=True)
    node = serializers.CharField(allow_null=True)
    funnel = serializers.DictField(child=serializers.IntegerField())
    together = TogetherSerializer(
        allow_null=True, help_text="The last step: what is free does not fit together."
    )
    groups = NodeGroupSerializer(many=True, help_text="All nodes; those that came closest first.")
    holders = serializers.JSONField(
        help_text="Who has the devices of the verdict `taken`: `{namespace: {claim: [device]}}`."
    )
    nodes = NodeRowSerializer(many=True, help_text="The first groups, one row for each node.")
    suggestions = SuggestionSerializer(many=True, help_text="Each was tried and makes it fit.")
    chosen = serializers.ListField(child=serializers.JSONField(), help_text="If it fits.")
    steps = serializers.IntegerField(help_text="Search effort.")
    cut = serializers.CharField(
        required=False,
        allow_blank=True,
        help_text="What was left out since it was too long to keep; empty: nothing.",
    )
