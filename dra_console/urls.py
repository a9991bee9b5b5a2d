"""Every address of the console: log-in, metrics, REST and pages."""

from django.contrib.auth.views import LoginView, LogoutView
from django.urls import include, path

from dra_console.api.metrics import MetricsView

urlpatterns = [
    path(
        "login/",
        LoginView.as_view(template_name="web/login.html", redirect_authenticated_user=True),
        name="login",
    ),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("metrics", MetricsView.as_view(), name="metrics"),
    path("api/", include("dra_console.api.urls")),
    path("", include("dra_console.web.urls")),
]
