"""Every address of the console: log-in, REST and pages."""

from django.contrib.auth.views import LoginView, LogoutView
from django.urls import include, path

urlpatterns = [
    path(
        "login/",
        LoginView.as_view(template_name="web/login.html", redirect_authenticated_user=True),
        name="login",
    ),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("api/", include("dra_console.api.urls")),
    path("", include("dra_console.web.urls")),
]
