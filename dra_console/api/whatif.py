"""What-if under `/api/v1/whatif/`: scenarios answered, nothing written."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django.core.exceptions import PermissionDenied
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from dra_console.access import rules
from dra_console.access.models import Scope
from dra_console.allocator.errors import DecodeError
from dra_console.api.problems import body_problem, parameter_problem, pointer_to
from dra_console.api.queries import ClusterQuery, Query
from dra_console.api.viewsets import ClusterViewSet
from dra_console.api.whatif_shapes import ScenarioSerializer, WhatIfSerializer
from dra_console.kube.kinds import RESOURCE_SLICES
from dra_console.scheduling.whatif.answering import answer_now
from dra_console.scheduling.whatif.decoding import decode_scenario
from dra_console.scheduling.whatif.report import report_of
from dra_console.scheduling.whatif.rights import rights_of
from dra_console.scheduling.whatif.scenario import Scenario, json_of_token

NOT_LISTED = "You may not list resourceslices, which publish devices."


class WhatIfQuery(ClusterQuery):
    """A scenario in an address."""

    scenario = serializers.CharField(
        required=False, help_text="`token` of an answer; without it, nothing is changed."
    )


class WhatIfViewSet(ClusterViewSet):
    """What would fit, whom it would hit, and what would be left."""

    mirrored_kinds = (RESOURCE_SLICES,)
    item_class = WhatIfSerializer
    write_scope = Scope.READ
    query_classes: ClassVar[Mapping[str, type[Query]]] = {"list": WhatIfQuery}
    answer_classes: ClassVar[Mapping[str, type[serializers.Serializer[Any]]]] = {
        "list": WhatIfSerializer,
        "create": WhatIfSerializer,
    }
    request_classes: ClassVar[Mapping[str, type[serializers.Serializer[Any]]]] = {
        "create": ScenarioSerializer
    }

    def list(self, request: Request) -> Response:
        """Answer the scenario of a token, on its snapshot as long as that is kept."""
        del request
        try:
            raw = json_of_token(self.query["scenario"]) if "scenario" in self.query else {}
            return self._answered(decode_scenario(raw))
        except DecodeError as error:
            raise parameter_problem(str(error), parameter="scenario") from error

    def create(self, request: Request) -> Response:
        """Answer a scenario. Nothing is written; the token in the answer reproduces it."""
        try:
            return self._answered(decode_scenario(request.data))
        except DecodeError as error:
            raise body_problem(error.message, pointer=pointer_to(error.path)) from error

    def _answered(self, scenario: Scenario) -> Response:
        if not rules.may(self.account, self.cluster, "list", RESOURCE_SLICES):
            raise PermissionDenied(NOT_LISTED)
        freshness = self.freshness()
        rights = rights_of(self.account, self.cluster)
        found = answer_now(self.cluster, scenario, rights=rights)
        return self.answer(report_of(found, rights=rights), freshness=freshness)
