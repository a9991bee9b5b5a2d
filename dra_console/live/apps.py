from django.apps import AppConfig


class LiveConfig(AppConfig):
    """WebSockets."""

    name = "dra_console.live"
