"""The OpenAPI document, derived from what the views declare: queries, item shape, answers."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, ClassVar

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse
from rest_framework.serializers import Serializer
from rest_framework.views import APIView

from dra_console.api import problems, queries
from dra_console.api.addresses import CLUSTER_SCOPED, PATH_PARAMETERS
from dra_console.api.shapes import ProblemSerializer, list_of

PROBLEM = ("default", problems.CONTENT_TYPE)


class BearerTokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # the base registers its subclasses in an untyped __init_subclass__
    """Tells readers of the document about API tokens."""

    target_class = "dra_console.access.authentication.BearerTokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, str]:
        del auto_schema
        return {"type": "http", "scheme": "bearer", "description": "An API token of this console."}


class DescribedView(APIView):
    """What a view declares about its addresses, queries and answers."""

    query_classes: ClassVar[Mapping[str, type[queries.Query]]] = {}
    """By action; an action that is not named takes `cluster` alone."""

    item_class: ClassVar[type[Serializer[Any]]]
    """Describes one object of the list."""

    answer_classes: ClassVar[Mapping[str, type[Serializer[Any]]]] = {}
    """Describe what further actions answer, and what is no list and no stored object."""

    request_classes: ClassVar[Mapping[str, type[Serializer[Any]]]] = {}
    """Describe bodies that are no object of the list."""

    guarded_actions: ClassVar[frozenset[str]] = frozenset()
    """Further actions that need `If-Match`, as every deletion does."""

    lookup_pattern: ClassVar[str] = CLUSTER_SCOPED
    """How an address names one object."""

    action: str


class ConsoleSchema(AutoSchema):
    """Reads the declarations of a `DescribedView`."""

    view: DescribedView  # type: ignore[override]  # the base narrows it at run time only

    def get_override_parameters(self) -> list[Any]:
        query_class = self.view.query_classes.get(self.view.action, queries.ClusterQuery)
        # A serializer without fields has no properties, which drf-spectacular trips over.
        parameters: list[Any] = [query_class] if query_class().fields else []
        parameters += [p for p in PATH_PARAMETERS if f"{{{p.name}}}" in self.path]
        if self.method == "DELETE" or self.view.action in self.view.guarded_actions:
            parameters.append(
                OpenApiParameter(
                    "If-Match",
                    location=OpenApiParameter.HEADER,
                    required=True,
                    description="The `ETag` of the object as you saw it.",
                )
            )
        return parameters

    def get_request_serializer(self) -> type[Serializer[Any]] | None:
        usual = self.view.item_class if self.view.action == "create" else None
        return self.view.request_classes.get(self.view.action, usual)

    def get_response_serializers(  # type: ignore[override]  # by status code, which the stubs leave out
        self,
    ) -> Mapping[Any, Any]:
        answers: dict[Any, Any] = {PROBLEM: OpenApiResponse(ProblemSerializer, "A problem.")}
        match self.view.action:
            case action if action in self.view.answer_classes:
                answers[HTTPStatus.OK.value] = self.view.answer_classes[action]
            case "list":
                answers[HTTPStatus.OK.value] = list_of(self.view.item_class)
            case "create":
                answers[HTTPStatus.OK.value] = OpenApiResponse(
                    self.view.item_class, "As it would be stored (`dryRun=All`)."
                )
                answers[HTTPStatus.CREATED.value] = OpenApiResponse(
                    self.view.item_class, "As it was stored."
                )
            case "destroy":
                answers[HTTPStatus.ACCEPTED.value] = OpenApiResponse(
                    None, "Deletion was asked for; finalizers may keep the object for a while."
                )
            case _:
                answers[HTTPStatus.OK.value] = self.view.item_class
        return answers

    def _is_list_view(self, serializer: object = None) -> bool:
        """Lists are envelopes, described as objects; only the operation's name says list."""
        return serializer is None and self.view.action == "list"
