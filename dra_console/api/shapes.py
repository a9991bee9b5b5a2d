"""What answers look like, for the OpenAPI document: Kubernetes' objects, lists and problems."""

from typing import Any

from drf_spectacular.utils import inline_serializer
from rest_framework import serializers


class KubernetesObjectSerializer(serializers.Serializer[Any]):
    """An object as Kubernetes spells it; its reference documents spec and status."""

    apiVersion = serializers.CharField()
    kind = serializers.CharField()
    metadata = serializers.DictField(child=serializers.JSONField(allow_null=True))
    spec = serializers.DictField(child=serializers.JSONField(allow_null=True), required=False)
    status = serializers.DictField(child=serializers.JSONField(allow_null=True), required=False)


class ListMetadataSerializer(serializers.Serializer[Any]):
    """Where the next page begins; without `continue` this was the last one."""

    resourceVersion = serializers.CharField(required=False)
    remainingItemCount = serializers.IntegerField(required=False)

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """Add `continue`, which is no name in Python."""
        fields = super().get_fields()
        fields["continue"] = serializers.CharField(required=False)
        return fields


class ProblemErrorSerializer(serializers.Serializer[Any]):
    """One thing that was wrong: where in the body, or which parameter."""

    pointer = serializers.CharField(required=False, help_text="JSON pointer into the body.")
    parameter = serializers.CharField(required=False, help_text="Name of a query parameter.")
    detail = serializers.CharField()


class ProblemSerializer(serializers.Serializer[Any]):
    """Why a request was refused (RFC 9457)."""

    type = serializers.CharField(help_text="Branch on this.")
    title = serializers.CharField()
    status = serializers.IntegerField()
    detail = serializers.CharField(help_text="For people.")
    errors = ProblemErrorSerializer(many=True, required=False)  # type: ignore[assignment]  # RFC 9457's name; DRF takes declared fields off the class


def list_of(
    item_class: type[serializers.Serializer[Any]],
) -> serializers.Serializer[Any]:
    """Describe the envelope of a list."""
    fields: dict[str, serializers.Field[Any, Any, Any, Any]] = {
        "metadata": ListMetadataSerializer(),
        "items": item_class(many=True),
    }
    if issubclass(item_class, KubernetesObjectSerializer):
        fields["apiVersion"] = serializers.CharField()
        fields["kind"] = serializers.CharField()
    name = item_class.__name__.removesuffix("Serializer")
    return inline_serializer(name=f"{name}List", fields=fields)
