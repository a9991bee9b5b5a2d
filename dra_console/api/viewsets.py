"""What all REST views share: whose request it is, about which cluster, and how old the answer is.

A view decodes, asks `access.rules`, calls one function and encodes. Objects of Kubernetes'
kinds are sent as Kubernetes spells them; `MirroredKindViewSet` reads them, its subclasses
name kind, model and filters.
"""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import ClassVar, Generic, TypeVar

from django.contrib.auth.models import AbstractBaseUser
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404
from django.utils.cache import patch_cache_control, patch_vary_headers
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ViewSetMixin

from dra_console.access import rules
from dra_console.allocator.model import Json, JsonObject
from dra_console.api import queries, selectors
from dra_console.api.freshness import Freshness, read_freshness
from dra_console.api.paging import PAGE_CAP, Paging, page_of_rows
from dra_console.api.parsers import ObjectParser
from dra_console.api.permissions import TokenScope
from dra_console.api.problems import Problem, parameter_problem
from dra_console.api.schema import ConsoleSchema, DescribedView
from dra_console.kube.kinds import Kind
from dra_console.mirror.clusters import SeveralClustersError, enabled_cluster, only_cluster
from dra_console.mirror.models import Cluster
from dra_console.mirror.models.cluster import MirroredObject

Row = TypeVar("Row", bound=MirroredObject)


class ConsoleViewSet(ViewSetMixin, DescribedView):
    """A view for a person or a token; `query` holds the parsed parameters."""

    schema = ConsoleSchema()
    permission_classes = (IsAuthenticated, TokenScope)
    parser_classes = (ObjectParser,)

    query: queries.Parsed

    def initial(self, request: Request, *args: object, **kwargs: object) -> None:
        """Parse the query string, once the request is let through."""
        super().initial(request, *args, **kwargs)
        query_class = self.query_classes.get(self.action, queries.ClusterQuery)
        self.query = queries.parse_query(request, query_class=query_class)

    def finalize_response(
        self, request: Request, response: Response, *args: object, **kwargs: object
    ) -> Response:
        """Keep what one person may see out of caches that serve others."""
        response = super().finalize_response(request, response, *args, **kwargs)
        patch_cache_control(response, private=True, no_cache=True)
        patch_vary_headers(response, ("Authorization", "Cookie"))
        return response

    @property
    def account(self) -> AbstractBaseUser:
        """Name the person; `IsAuthenticated` has refused everybody else."""
        user = self.request.user
        if user.is_anonymous:
            raise PermissionDenied
        return user

    def paging(self) -> Paging:
        """Say which page is wanted, bound to this list, its filters and this reader."""
        filters = {k: v for k, v in self.query.items() if k not in {"limit", "continue"}}
        return Paging(
            limit=min(self.query["limit"], PAGE_CAP),
            cursor=self.query.get("continue", ""),
            binding=(type(self).__name__, str(self.account.pk), repr(sorted(filters.items()))),
        )


class ClusterViewSet(ConsoleViewSet):
    """A view on what is mirrored of one cluster."""

    mirrored_kinds: ClassVar[Sequence[Kind]]
    """What the answers are made of; the first one's resource version is told."""

    cluster: Cluster

    def initial(self, request: Request, *args: object, **kwargs: object) -> None:
        """Find the cluster, too."""
        super().initial(request, *args, **kwargs)
        self.cluster = _cluster_named(self.query.get("cluster"))
        # Cursors hold for the cluster that was found, even if another becomes the first one.
        self.query["cluster"] = self.cluster.name

    def freshness(self) -> Freshness:
        """Read how old an answer is."""
        return read_freshness(self.cluster, kinds=self.mirrored_kinds)

    def answer(self, body: Json, *, freshness: Freshness, etag: str = "") -> Response:
        """Send what the mirror says, with its age."""
        headers = {"X-Mirror-Cluster": self.cluster.name, **freshness.headers()}
        if etag:
            headers["ETag"] = f'"{etag}"'
        return Response(body, headers=headers)


class MirroredKindViewSet(ClusterViewSet, Generic[Row]):
    """List and retrieve one kind, as Kubernetes spells its objects."""

    kind: ClassVar[Kind]
    model: type[Row]
    field_columns: ClassVar[Mapping[str, str]] = {"metadata.name": "name"}
    """What `fieldSelector` may name, and the column that repeats it."""

    def list(self, request: Request) -> Response:
        """List the objects that you may list, a page at a time."""
        del request
        freshness = self.freshness()
        rows = self.narrow(self.listable_rows(), self.query)
        page = page_of_rows(
            selected(rows, self.query, columns=self.field_columns),
            columns=("namespace", "name") if self.kind.namespaced else ("name",),
            paging=self.paging(),
            shape=raw_of,
        ).envelope()
        metadata = page["metadata"]
        if isinstance(metadata, dict):
            metadata["resourceVersion"] = freshness.resource_version
        page["apiVersion"] = self.kind.api_version
        page["kind"] = f"{self.kind.kind}List"
        return self.answer(page, freshness=freshness)

    def retrieve(self, request: Request, name: str, namespace: str | None = None) -> Response:
        """Read one object; `ETag` is its resource version."""
        del request
        freshness = self.freshness()
        row = self.readable_row(name, namespace=namespace)
        return self.answer(raw_of(row), freshness=freshness, etag=row.resource_version)

    def narrow(self, rows: QuerySet[Row], query: queries.Parsed) -> QuerySet[Row]:
        """Apply the filters that this list has of its own."""
        del query
        return rows

    def listable_rows(self) -> QuerySet[Row]:
        """Select what the person may list.

        Raises:
            PermissionDenied: the kind has no namespaces and may not be listed.

        """
        rows = self.model._default_manager.filter(cluster=self.cluster)  # noqa: SLF001 - Django's documented name
        namespaces = rules.visible_namespaces(self.account, self.cluster, self.kind)
        if namespaces is None:
            return rows
        if not self.kind.namespaced:
            raise PermissionDenied(f"You may not list {self.kind.plural}.")
        return rows.filter(namespace__in=namespaces)

    def readable_row(self, name: str, *, namespace: str | None) -> Row:
        """Find one object.

        Raises:
            Http404: there is none, or it is not for this person's eyes; nobody can tell which.

        """
        allowed = rules.may(
            self.account, self.cluster, "get", self.kind, namespace=namespace, name=name
        )
        rows = self.model._default_manager.filter(  # noqa: SLF001 - Django's documented name
            cluster=self.cluster, namespace=namespace or "", name=name
        )
        row = rows.first() if allowed else None
        if row is None:
            raise Http404
        return row


def raw_of(row: MirroredObject) -> JsonObject:
    """Give the object as the API server last showed it."""
    raw: JsonObject = row.raw
    return raw


def selected(
    rows: QuerySet[Row], query: queries.Parsed, *, columns: Mapping[str, str]
) -> QuerySet[Row]:
    """Apply the filters that every list of Kubernetes objects has."""
    if text := query.get("q"):
        rows = rows.filter(name__icontains=text)
    if selector := query.get("labelSelector"):
        rows = selectors.with_labels(rows, selector=selector)
    if selector := query.get("fieldSelector"):
        rows = selectors.with_fields(rows, selector=selector, columns=columns)
    return rows


def _cluster_named(name: str | None) -> Cluster:
    try:
        return only_cluster() if name is None else enabled_cluster(name)
    except SeveralClustersError as error:
        raise parameter_problem(
            f"required, since {error}", parameter="cluster", kind="cluster-required"
        ) from error
    except Cluster.DoesNotExist as error:
        if name is None:
            raise Problem(
                HTTPStatus.SERVICE_UNAVAILABLE, "no-cluster", "No cluster is configured."
            ) from error
        raise Problem(
            HTTPStatus.NOT_FOUND,
            "no-such-cluster",
            f"There is nothing here: {error}.",
            errors=[{"parameter": "cluster", "detail": str(error)}],
        ) from error
