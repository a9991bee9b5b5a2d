"""`/metrics` for Prometheus, to whoever shows a token or is logged in."""

from collections.abc import Iterable, Iterator

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.permissions import IsAuthenticated
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.views import APIView

from dra_console.api.measures import measures
from dra_console.api.permissions import TokenScope
from dra_console.mirror.clock import database_now


class _AtThisMoment(Collector):
    """Measures when it is asked."""

    def collect(self) -> Iterator[Metric]:
        return measures(now=database_now())


class _LeftToTheEncoder(BaseContentNegotiation):
    """Prometheus' formats have an order of preference of their own; refusals are JSON."""

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        del request, format_suffix
        first = next(iter(renderers))
        return first, first.media_type


@extend_schema(exclude=True)
class MetricsView(APIView):
    """Every measure, in the format that the scraper prefers."""

    permission_classes = (IsAuthenticated, TokenScope)
    content_negotiation_class = _LeftToTheEncoder

    def get(self, request: Request) -> HttpResponse:
        """Measure now."""
        registry = CollectorRegistry(auto_describe=False)
        registry.register(_AtThisMoment())
        encode, content_type = choose_encoder(request.headers.get("Accept", ""))
        return HttpResponse(encode(registry), content_type=content_type)
