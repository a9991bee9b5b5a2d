"""Who an account is in Kubernetes, and how it wants its pages."""

from typing import Self

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser
from django.core.exceptions import ValidationError
from django.db import models

FORBIDDEN_GROUPS = frozenset({"system:masters"})
"""Groups that bypass authorisation; impersonating one would make every rule here void."""


class Theme(models.TextChoices):
    """How pages are coloured."""

    SYSTEM = "", "As the system"
    LIGHT = "light", "Light"
    DARK = "dark", "Dark"


def check_groups(groups: list[object]) -> None:
    """Refuse groups that are not names, or that bypass authorisation.

    Raises:
        ValidationError: with a message that names the group.

    """
    for group in groups:
        if not isinstance(group, str) or not group:
            raise ValidationError(f"kubernetes_groups: expected a name, got {group!r}")
        if group in FORBIDDEN_GROUPS:
            raise ValidationError(
                f"kubernetes_groups: {group} bypasses authorisation and is never impersonated"
            )


class Profile(models.Model):
    """The Kubernetes identity of one account, and its preferences.

    An account without a profile, or without a username in it, sees and does nothing in a
    cluster.
    """

    user = models.OneToOneField(settings.AUTH_USER_MODEL, models.CASCADE, related_name="profile")
    kubernetes_username = models.CharField(
        max_length=253, blank=True, help_text="Empty: cannot act on any cluster"
    )
    kubernetes_groups = models.JSONField(default=list, blank=True, validators=[check_groups])
    theme = models.CharField(max_length=8, choices=Theme.choices, blank=True)

    def __str__(self) -> str:
        return f"{self.user} as {self.kubernetes_username or 'nobody'}"

    @classmethod
    def of(cls, user: AbstractBaseUser) -> Self | None:
        """Find the account's profile, once for as long as this `user` object lives."""
        try:
            profile = getattr(user, "profile")  # noqa: B009 - a reverse relation, unknown to types
        except cls.DoesNotExist:
            return None
        return profile if isinstance(profile, cls) else None
