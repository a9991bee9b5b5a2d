from django.apps import AppConfig


class TelemetryConfig(AppConfig):
    """Live GPU state at rest."""

    name = "dra_console.telemetry"
