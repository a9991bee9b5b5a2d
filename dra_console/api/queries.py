"""Query parameters, parsed once and strictly: an unknown, repeated or malformed one is refused.

One serializer per list; it is also what the OpenAPI document says about the list. Nothing
from a query string reaches a lookup by name (Django CVE-2025-64459).
"""

from typing import Any, TypeAlias, TypeVar

from rest_framework import serializers
from rest_framework.request import Request

from dra_console.api.paging import PAGE_CAP
from dra_console.api.problems import parameter_problem

Parsed: TypeAlias = dict[str, Any]
"""Validated values by parameter name; a parameter that was not given is absent."""


class Query(serializers.Serializer[Any]):
    """No parameters at all."""


class ClusterQuery(Query):
    """Which cluster is asked about."""

    cluster = serializers.CharField(
        required=False, help_text="Name of a cluster; required where there are several."
    )


class PageQuery(Query):
    """A page of a list."""

    limit = serializers.IntegerField(
        required=False,
        min_value=1,
        default=PAGE_CAP,
        help_text=f"Objects on a page, at most; {PAGE_CAP} whatever is asked for.",
    )

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """Add `continue`, which is no name in Python."""
        fields = super().get_fields()
        fields["continue"] = serializers.CharField(
            required=False, help_text="`metadata.continue` of the page before."
        )
        return fields


class ListQuery(PageQuery, ClusterQuery):
    """A page of a list of what is in a cluster."""


class LabelledQuery(ListQuery):
    """A page of objects that carry labels."""

    labelSelector = serializers.CharField(
        required=False, help_text="As in Kubernetes: `a=b,c!=d,e in (f,g),h notin (i),j,!k`."
    )
    fieldSelector = serializers.CharField(
        required=False, help_text="As in Kubernetes, for the fields that the detail lists."
    )
    q = serializers.CharField(required=False, help_text="Part of the name.")


class WriteQuery(ClusterQuery):
    """A write that may be tried without effect."""

    dryRun = serializers.ChoiceField(
        required=False,
        choices=["All"],
        help_text="`All`: every check of the API server, nothing stored.",
    )


QueryT = TypeVar("QueryT", bound=Query)


def parse_query(request: Request, *, query_class: type[QueryT]) -> Parsed:
    """Read the query string.

    Raises:
        Problem: a parameter is unknown or given twice.
        ValidationError: a value is malformed.

    """
    query = query_class(data={name: request.query_params[name] for name in request.query_params})
    for name in request.query_params:
        if name not in query.fields:
            raise parameter_problem(
                f"unknown; this address knows {', '.join(sorted(query.fields))}",
                parameter=name,
                kind="unknown-parameter",
            )
        if len(request.query_params.getlist(name)) > 1:
            raise parameter_problem("given more than once", parameter=name)
    query.is_valid(raise_exception=True)
    parsed: Parsed = query.validated_data
    return parsed
