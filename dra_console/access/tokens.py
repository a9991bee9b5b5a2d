"""Issue and check API tokens.

A token reads `drac_<prefix>_<secret>`: the first part lets secret scanners find leaked
ones, the prefix finds the row, the secret carries 256 random bits. Stored is an
HMAC-SHA256 keyed from `SECRET_KEY` (the pepper), so that a copy of the database alone
cannot be used to make or test tokens. A slow password hash is not needed at 256 bits and would
cost every request. Tokens survive a rotation of the key while the old one stands in
`SECRET_KEY_FALLBACKS`.
"""

import secrets
from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser
from django.db.models import Q
from django.utils.crypto import constant_time_compare, salted_hmac

from dra_console.access.models import ApiToken, Scope

MARK = "drac"
LAST_USE_RESOLUTION = timedelta(minutes=1)
"""A token in constant use costs one row update in this time, not one for each request."""

_PREFIX_BYTES = 4
_SECRET_BYTES = 32


def issue(
    user: AbstractBaseUser, *, name: str, scope: Scope, expires_at: datetime
) -> tuple[ApiToken, str]:
    """Create a token and return it with its text, which cannot be had again."""
    prefix = f"{MARK}_{secrets.token_hex(_PREFIX_BYTES)}"
    text = f"{prefix}_{secrets.token_hex(_SECRET_BYTES)}"
    token = ApiToken.objects.create(
        user_id=user.pk,
        name=name,
        prefix=prefix,
        digest=_digest(text, key=settings.SECRET_KEY),
        scope=scope,
        expires_at=expires_at,
    )
    return token, text


def revoke(user: AbstractBaseUser, *, name: str, now: datetime) -> int:
    """End the user's tokens of this name; return how many were still alive."""
    alive = ApiToken.objects.filter(user_id=user.pk, name=name, revoked_at=None)
    return alive.update(revoked_at=now)


def find(text: str, *, now: datetime) -> ApiToken | None:
    """Find the usable token that this text is, with its user; None for everything else."""
    prefix, _, secret = text.rpartition("_")
    if not prefix or not secret:
        return None
    token = ApiToken.objects.select_related("user", "user__profile").filter(prefix=prefix).first()
    if token is None or not _matches(text, digest=token.digest):
        return None
    if not token.is_usable(now) or not token.user.is_active:
        return None
    return token


def note_use(token: ApiToken, *, now: datetime) -> None:
    """Remember when the token was last used, to `LAST_USE_RESOLUTION`."""
    stale = now - LAST_USE_RESOLUTION
    if token.last_used_at is not None and token.last_used_at > stale:
        return
    # The condition again, in the database: of many requests at once, one writes.
    outdated = Q(last_used_at=None) | Q(last_used_at__lte=stale)
    ApiToken.objects.filter(outdated, pk=token.pk).update(last_used_at=now)


def _digest(text: str, *, key: str | bytes) -> str:
    return salted_hmac(
        "dra_console.access.tokens", text, secret=key, algorithm="sha256"
    ).hexdigest()


def _matches(text: str, *, digest: str) -> bool:
    keys = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    return any(constant_time_compare(_digest(text, key=key), digest) for key in keys)
