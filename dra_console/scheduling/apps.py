from django.apps import AppConfig


class SchedulingConfig(AppConfig):
    """Mirror to allocator to API server."""

    name = "dra_console.scheduling"
