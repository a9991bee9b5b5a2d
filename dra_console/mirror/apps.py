from django.apps import AppConfig


class MirrorConfig(AppConfig):
    """The clusters' objects as rows; written by `sync.reconcile` alone."""

    name = "dra_console.mirror"
