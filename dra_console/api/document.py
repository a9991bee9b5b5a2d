"""The OpenAPI document at `/api/schema/`, and a page that shows it at `/api/docs/`.

The viewer is Swagger UI from the sidecar package, served by us; its start is a script of
ours, since the content security policy allows no inline script.
"""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe
from drf_spectacular.renderers import OpenApiJsonRenderer, OpenApiYamlRenderer
from drf_spectacular.views import SpectacularAPIView
from rest_framework.permissions import IsAuthenticated


class DocumentView(SpectacularAPIView):
    """The OpenAPI document, as JSON or, if asked for, as YAML."""

    permission_classes = (IsAuthenticated,)
    renderer_classes = [OpenApiJsonRenderer, OpenApiYamlRenderer]  # noqa: RUF012 - declared as a list of the instance by the base


@require_safe
def viewer(request: HttpRequest) -> HttpResponse:
    """Show the document."""
    return render(request, "api/docs.html")
