"""ResourceClaimTemplates under `/api/v1/resourceclaimtemplates/`."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from django.db.models import QuerySet
from rest_framework import serializers

from dra_console.allocator.model import JsonObject
from dra_console.allocator.validation.refusals import refuse_template
from dra_console.allocator.validation.validate import FieldError, validate_template
from dra_console.api.queries import LabelledQuery, Parsed, Query, WriteQuery
from dra_console.api.shapes import KubernetesObjectSerializer
from dra_console.api.writable import WritableKindViewSet
from dra_console.kube.kinds import RESOURCE_CLAIM_TEMPLATES
from dra_console.mirror.models import ResourceClaimTemplate


class ResourceClaimTemplateSerializer(KubernetesObjectSerializer):
    """A ResourceClaimTemplate (resource.k8s.io/v1)."""


class ResourceClaimTemplateQuery(LabelledQuery):
    """Filters of the list."""

    namespace = serializers.CharField(required=False, help_text="Namespace of the template.")


class ResourceClaimTemplateViewSet(WritableKindViewSet[ResourceClaimTemplate]):
    """What pods' claims are generated from."""

    kind = RESOURCE_CLAIM_TEMPLATES
    mirrored_kinds = (RESOURCE_CLAIM_TEMPLATES,)
    model = ResourceClaimTemplate
    item_class = ResourceClaimTemplateSerializer
    query_classes: ClassVar[Mapping[str, type[Query]]] = {
        "list": ResourceClaimTemplateQuery,
        "create": WriteQuery,
    }

    def narrow(
        self, rows: QuerySet[ResourceClaimTemplate], query: Parsed
    ) -> QuerySet[ResourceClaimTemplate]:
        return rows.filter(namespace=query["namespace"]) if "namespace" in query else rows

    def validate(self, manifest: JsonObject) -> Sequence[FieldError]:
        return (*validate_template(manifest), *refuse_template(manifest))
