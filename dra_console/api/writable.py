"""Kinds that people create and delete: claims and their templates."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import ClassVar, TypeVar
from urllib.parse import urlencode

from django.urls import reverse
from rest_framework.request import Request
from rest_framework.response import Response

from dra_console.access.models import Scope
from dra_console.allocator.model import JsonObject
from dra_console.allocator.validation.validate import FieldError
from dra_console.api import writes
from dra_console.api.addresses import NAMESPACED
from dra_console.api.viewsets import MirroredKindViewSet
from dra_console.mirror.models.cluster import MirroredObject

Row = TypeVar("Row", bound=MirroredObject)


class WritableKindViewSet(MirroredKindViewSet[Row]):
    """List, retrieve, create and delete one namespaced kind."""

    lookup_pattern = NAMESPACED
    write_scope = Scope.CLAIMS_WRITE
    field_columns: ClassVar[Mapping[str, str]] = {
        "metadata.name": "name",
        "metadata.namespace": "namespace",
    }

    @abstractmethod
    def validate(self, manifest: JsonObject) -> Sequence[FieldError]:
        """Say which fields the API server would refuse."""

    def create(self, request: Request) -> Response:
        """Create an object as yourself, or try to with `dryRun=All`."""
        dry_run = self.query.get("dryRun") == "All"
        manifest = writes.read_manifest(request.data, kind=self.kind, validate=self.validate)
        stored = writes.create(
            self.account, manifest, cluster=self.cluster, kind=self.kind, dry_run=dry_run
        )
        if dry_run:
            return Response(stored)
        return Response(stored, status=HTTPStatus.CREATED, headers=self._headers(stored))

    def destroy(self, request: Request, name: str, namespace: str) -> Response:
        """Ask for an object's deletion; `If-Match` names the version that you saw."""
        row = self.readable_row(name, namespace=namespace)
        if_match = request.headers.get("If-Match")
        writes.delete(self.account, row, kind=self.kind, if_match=if_match)
        return Response(status=HTTPStatus.ACCEPTED)

    def _headers(self, stored: JsonObject) -> dict[str, str]:
        metadata = stored.get("metadata")
        if not isinstance(metadata, dict):
            return {}
        names = {part: str(metadata.get(part)) for part in ("namespace", "name")}
        address = reverse(f"api:{self.kind.plural}-detail", kwargs=names)
        # Whoever had to name the cluster has to name it again to read what was created.
        named = self.request.query_params.get("cluster")
        query = f"?{urlencode({'cluster': named})}" if named else ""
        return {
            "Location": f"{address}/{query}",
            "ETag": f'"{metadata.get("resourceVersion")}"',
        }
