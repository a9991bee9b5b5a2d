from django.apps import AppConfig


class WebConfig(AppConfig):
    """HTML."""

    name = "dra_console.web"
