from django.apps import AppConfig


class LiveConfig(AppConfig):
    """WebSockets."""

    name = "dra_console.live"

    def ready(self) -> None:
        from dra_console.live.signins import (  # noqa: PLC0415 - models load after apps
            close_sockets_on_logout,
        )

        close_sockets_on_logout()
