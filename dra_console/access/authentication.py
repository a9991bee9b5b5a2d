"""Log programs in by `Authorization: Bearer <token>`.

A browser cannot be made to send this header across sites, so these requests need no CSRF
token; those with a session cookie do (REST framework's `SessionAuthentication`).
"""

from django.contrib.auth.base_user import AbstractBaseUser
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from dra_console.access import tokens
from dra_console.access.models import ApiToken

_REFUSED = "the token is unknown, expired or revoked, or its account is disabled"
"""One text for all cases: whoever holds no token learns nothing about tokens."""


class BearerTokenAuthentication(BaseAuthentication):
    """`request.auth` is the `ApiToken`; requests without the header are left to others."""

    def authenticate(self, request: Request) -> tuple[AbstractBaseUser, ApiToken] | None:
        scheme, _, credentials = get_authorization_header(request).partition(b" ")
        if scheme.lower() != b"bearer":
            return None
        now = timezone.now()
        token = tokens.find(credentials.strip().decode("latin-1"), now=now)
        if token is None:
            raise AuthenticationFailed(_REFUSED)
        tokens.note_use(token, now=now)
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        del request
        return 'Bearer realm="dra-console"'
