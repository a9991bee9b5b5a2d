"""The console's pages, and what stands beside them: health and colours.

Each view module lists its own routes; adding a page is one import and one line here.
"""

from django.urls import include, path

from dra_console.web import health, theme
from dra_console.web.views import (
    attempt,
    claim,
    claims,
    clusters,
    conflicts,
    device,
    devices,
    managed_devices,
    nodes,
    overview,
    pods,
    request,
    scheduling,
    search,
    templates,
    whatif,
)

pages = [
    *overview.routes,
    *search.routes,
    *devices.routes,
    *device.routes,
    *nodes.routes,
    *claims.routes,
    *claim.routes,
    *templates.routes,
    *pods.routes,
    *request.routes,
    *whatif.routes,
    *scheduling.routes,
    *attempt.routes,
    *conflicts.routes,
    *managed_devices.routes,
    *clusters.routes,
]

urlpatterns = [
    path("healthz", health.healthz, name="healthz"),
    path("theme/", theme.choose, name="theme"),
    path("", include((pages, "web"))),
]
