"""Accounts of the console, with or without an identity in Kubernetes."""

from datetime import UTC, datetime, timedelta

from django.contrib.auth.models import User

from dra_console.access import tokens
from dra_console.access.models import Profile, Scope

PASSWORD = "a password for tests"


def an_account(
    username: str = "ana", *, groups: tuple[str, ...] = (), kubernetes_username: str | None = None
) -> User:
    """Create an account that acts in Kubernetes under its own name, unless told otherwise."""
    user = User.objects.create_user(username, password=PASSWORD)
    Profile.objects.create(
        user=user,
        kubernetes_username=username if kubernetes_username is None else kubernetes_username,
        kubernetes_groups=list(groups),
    )
    return user


def a_token(
    user: User,
    *,
    scope: Scope = Scope.ADMIN,
    name: str = "tests",
    lives: timedelta = timedelta(days=1),
) -> str:
    """Issue a token and return its text."""
    _, text = tokens.issue(user, name=name, scope=scope, expires_at=datetime.now(tz=UTC) + lives)
    return text
