"""Nodes under `/api/v1/nodes/`."""

from collections.abc import Mapping
from typing import ClassVar

from django.db.models import Q, QuerySet
from rest_framework import serializers

from dra_console.api.queries import LabelledQuery, Parsed, Query
from dra_console.api.shapes import KubernetesObjectSerializer
from dra_console.api.viewsets import MirroredKindViewSet
from dra_console.kube.kinds import NODES
from dra_console.mirror.models import Node


class NodeSerializer(KubernetesObjectSerializer):
    """A Node (v1)."""


class NodeQuery(LabelledQuery):
    """Filters of the list."""

    state = serializers.ChoiceField(
        required=False,
        choices=["ready", "not-ready", "cordoned"],
        help_text="`not-ready` includes nodes whose readiness is unknown.",
    )


class NodeViewSet(MirroredKindViewSet[Node]):
    """The machines that devices are in."""

    kind = NODES
    mirrored_kinds = (NODES,)
    model = Node
    item_class = NodeSerializer
    query_classes: ClassVar[Mapping[str, type[Query]]] = {"list": NodeQuery}

    def narrow(self, rows: QuerySet[Node], query: Parsed) -> QuerySet[Node]:
        match query.get("state"):
            case "ready":
                return rows.filter(ready=True)
            case "not-ready":
                return rows.filter(Q(ready=False) | Q(ready=None))
            case "cordoned":
                return rows.filter(unschedulable=True)
        return rows
