from django.apps import AppConfig


class AccessConfig(AppConfig):
    """People, tokens and what they may see and do."""

    name = "dra_console.access"
