"""The two WebSocket addresses, which share nothing but the process.

Agents come without cookies and without an Origin; browsers come with both, and a
browser whose Origin is foreign or missing is refused with 403 before any session
is looked at.
"""

from channels.security.websocket import OriginValidator, WebsocketDenier
from channels.sessions import SessionMiddlewareStack
from django.conf import settings
from django.urls import path, re_path

from dra_console.live.agents import AgentConsumer
from dra_console.live.browsers import BrowserConsumer

websocket_urlpatterns = [
    path("ws/v1/agents", AgentConsumer.as_asgi()),  # type: ignore[arg-type]  # django-stubs knows views only
    path(
        "ws/v1/live",
        OriginValidator(
            SessionMiddlewareStack(BrowserConsumer.as_asgi()), settings.ALLOWED_ORIGINS
        ),
    ),
    # Without it an unknown address is a traceback in the log instead of a 403.
    re_path("", WebsocketDenier.as_asgi()),  # type: ignore[arg-type]  # django-stubs knows views only
]
