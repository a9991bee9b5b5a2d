from django.apps import AppConfig


class SyncConfig(AppConfig):
    """API server to mirror."""

    name = "dra_console.sync"
