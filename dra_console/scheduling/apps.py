from django.apps import AppConfig


class SchedulingConfig(AppConfig):
    """Mirror to allocator to API server."""

    name = "dra_console.scheduling"

    def ready(self) -> None:
        """Hear of changes in the mirror."""
        from dra_console.scheduling import receivers  # noqa: F401, PLC0415 - connects on import
