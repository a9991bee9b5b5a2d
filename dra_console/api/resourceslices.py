"""ResourceSlices under `/api/v1/resourceslices/`."""

from collections.abc import Mapping
from typing import ClassVar

from django.db.models import QuerySet
from rest_framework import serializers

from dra_console.api.queries import LabelledQuery, Parsed, Query
from dra_console.api.shapes import KubernetesObjectSerializer
from dra_console.api.viewsets import MirroredKindViewSet
from dra_console.kube.kinds import RESOURCE_SLICES
from dra_console.mirror.models import ResourceSlice


class ResourceSliceSerializer(KubernetesObjectSerializer):
    """A ResourceSlice (resource.k8s.io/v1)."""


class ResourceSliceQuery(LabelledQuery):
    """Filters of the list."""

    node = serializers.CharField(required=False, help_text="Name of the node that it is for.")
    driver = serializers.CharField(required=False, help_text="Name of its driver.")
    pool = serializers.CharField(required=False, help_text="Name of its pool.")


class ResourceSliceViewSet(MirroredKindViewSet[ResourceSlice]):
    """What the drivers publish."""

    kind = RESOURCE_SLICES
    mirrored_kinds = (RESOURCE_SLICES,)
    model = ResourceSlice
    item_class = ResourceSliceSerializer
    query_classes: ClassVar[Mapping[str, type[Query]]] = {"list": ResourceSliceQuery}
    field_columns: ClassVar[Mapping[str, str]] = {
        "metadata.name": "name",
        "spec.nodeName": "node_name",
        "spec.driver": "driver",
        "spec.pool.name": "pool",
    }

    def narrow(self, rows: QuerySet[ResourceSlice], query: Parsed) -> QuerySet[ResourceSlice]:
        if "node" in query:
            rows = rows.filter(node_name=query["node"])
        if "driver" in query:
            rows = rows.filter(driver=query["driver"])
        if "pool" in query:
            rows = rows.filter(pool=query["pool"])
        return rows
