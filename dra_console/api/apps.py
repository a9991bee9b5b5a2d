from django.apps import AppConfig


class ApiConfig(AppConfig):
    """REST."""

    name = "dra_console.api"
