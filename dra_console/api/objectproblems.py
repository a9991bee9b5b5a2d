"""Objects with problems under `/api/v1/objectproblems/`: what is wrong, and what follows."""

from collections.abc import Mapping
from typing import Any, ClassVar

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from dra_console.access.problems import visible_problems
from dra_console.allocator.model import Json
from dra_console.api.paging import page_of_rows
from dra_console.api.queries import ListQuery, Query
from dra_console.api.viewsets import ClusterViewSet
from dra_console.mirror.models import FoundBy, ObjectProblem


class ObjectProblemSerializer(serializers.Serializer[Any]):
    """What is wrong with one object."""

    plural = serializers.CharField(help_text="Its kind, such as resourceclaims.")
    namespace = serializers.CharField(help_text="Empty: its kind has none.")
    name = serializers.CharField(help_text="Empty: it names none.")
    path = serializers.CharField(help_text="Of the field; empty: no one field.")
    message = serializers.CharField()
    foundBy = serializers.ChoiceField(
        choices=FoundBy.values,
        source="found_by",
        help_text="`mirror`: it is not shown as the API server has it. `allocator`: it is left "
        "out when devices are allocated.",
    )
    knownSince = serializers.DateTimeField(source="seen_at")


class ObjectProblemQuery(ListQuery):
    """Filters of the list."""

    plural = serializers.CharField(required=False, help_text="A kind, such as resourceclaims.")


class ObjectProblemViewSet(ClusterViewSet):
    """Objects that something in them keeps from being mirrored or used as they are."""

    mirrored_kinds = ()
    item_class = ObjectProblemSerializer
    query_classes: ClassVar[Mapping[str, type[Query]]] = {"list": ObjectProblemQuery}

    def list(self, request: Request) -> Response:
        """List problems of objects that you may list, a page at a time."""
        del request
        told = visible_problems(self.account, self.cluster)
        if "plural" in self.query:
            told = told.filter(plural=self.query["plural"])
        page = page_of_rows(
            told,
            columns=("plural", "namespace", "name", "found_by"),
            paging=self.paging(),
            shape=_shape,
        )
        return Response(page.envelope())


def _shape(problem: ObjectProblem) -> Json:
    shaped: Json = ObjectProblemSerializer(problem).data
    return shaped
