"""The ASGI application of the `web` process: pages and REST over HTTP, and the two WebSockets."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dra_console.settings")

# Loads the apps; the imports below need them.
http = get_asgi_application()

from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402 - apps must be loaded first

from dra_console.live.routing import websocket_urlpatterns  # noqa: E402 - apps must be loaded first
from dra_console.sync.collector import look_less_often  # noqa: E402 - apps must be loaded first

websocket = URLRouter(websocket_urlpatterns)  # type: ignore[arg-type]  # stubs: no Django patterns
application = ProtocolTypeRouter({"http": http, "websocket": websocket})

# A question about a whole fleet makes a million objects, none of them in a cycle.
look_less_often()
