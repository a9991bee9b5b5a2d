"""Whether a browser's session is still somebody's, and telling sockets when it ends."""

import hashlib
from importlib import import_module

import structlog
from asgiref.sync import async_to_sync
from channels.layers import channel_layers
from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.auth.models import AbstractBaseUser
from django.contrib.auth.signals import user_logged_out
from django.http import HttpRequest
from redis import RedisError

SIGNED_OUT_MESSAGE = "signed.out"
"""Channels message type that `live.browsers` handles."""

log = structlog.get_logger()


def signed_in_user(session_key: str) -> AbstractBaseUser | None:
    """Read the session again; `None` if it ended, or its account was disabled or given a password.

    Rights are read anew, too: nothing of the account is remembered from an earlier call.
    """
    request = HttpRequest()
    request.session = import_module(settings.SESSION_ENGINE).SessionStore(session_key)
    user = get_user(request)
    return user if isinstance(user, AbstractBaseUser) and user.is_active else None


def session_group(session_key: str) -> str:
    """Name the channel group of a session's sockets, without giving the key away."""
    return f"session.{hashlib.sha256(session_key.encode()).hexdigest()}"


def close_sockets_on_logout() -> None:
    """Have every log-out close the session's sockets at once, in every process."""
    user_logged_out.connect(_tell_sockets, dispatch_uid="live.signins")


def _tell_sockets(*, request: HttpRequest, **_signal: object) -> None:
    session_key = request.session.session_key
    if session_key is None:
        return
    layer = channel_layers["default"]
    try:
        async_to_sync(layer.group_send)(session_group(session_key), {"type": SIGNED_OUT_MESSAGE})
    except RedisError as error:
        # Logging out must not fail; the sockets' own check closes them within a minute.
        log.warning("sockets not told of a log-out", error=str(error))
