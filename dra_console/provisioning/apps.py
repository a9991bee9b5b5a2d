from django.apps import AppConfig


class ProvisioningConfig(AppConfig):
    """Self-service."""

    name = "dra_console.provisioning"
