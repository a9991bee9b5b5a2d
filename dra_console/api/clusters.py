"""Clusters under `/api/v1/clusters/`: how far the mirror follows each of them."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django.http import Http404
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from dra_console.allocator.model import Json
from dra_console.api.paging import page_of_rows
from dra_console.api.queries import PageQuery, Query
from dra_console.api.viewsets import ConsoleViewSet
from dra_console.mirror.models import Cluster, Cursor


class CursorSerializer(serializers.Serializer[Any]):
    """How far one kind is followed."""

    plural = serializers.CharField()
    served = serializers.BooleanField(help_text="False: not served, or forbidden to the console.")
    resourceVersion = serializers.CharField(source="resource_version")
    listedAt = serializers.DateTimeField(source="listed_at", allow_null=True)
    lastEventAt = serializers.DateTimeField(source="last_event_at", allow_null=True)
    lagSeconds = serializers.SerializerMethodField(
        help_text="Since the API server last spoke for this kind; null: never."
    )
    relists = serializers.IntegerField()
    error = serializers.CharField(help_text="The last failure; empty after a success.")

    def get_lagSeconds(self, cursor: Cursor) -> float | None:
        """Say how old the mirror may be for this kind."""
        if cursor.last_contact_at is None:
            return None
        return round((timezone.now() - cursor.last_contact_at).total_seconds(), 1)


class ClusterSerializer(serializers.Serializer[Any]):
    """One cluster; where its credentials are is nobody's business here."""

    name = serializers.CharField()
    enabled = serializers.BooleanField()
    kinds = CursorSerializer(many=True, source="cursors.all")


class ClustersViewSet(ConsoleViewSet):
    """Clusters, with the lag and the error of each mirrored kind."""

    item_class = ClusterSerializer
    query_classes: ClassVar[Mapping[str, type[Query]]] = {"list": PageQuery, "retrieve": Query}

    def list(self, request: Request) -> Response:
        """List clusters by name, a page at a time."""
        del request
        rows = Cluster.objects.prefetch_related("cursors")
        page = page_of_rows(rows, columns=("name",), paging=self.paging(), shape=_shape)
        return Response(page.envelope())

    def retrieve(self, request: Request, name: str) -> Response:
        """Read one cluster."""
        del request
        row = Cluster.objects.prefetch_related("cursors").filter(name=name).first()
        if row is None:
            raise Http404
        return Response(_shape(row))


def _shape(cluster: Cluster) -> Json:
    shaped: Json = ClusterSerializer(cluster).data
    return shaped
