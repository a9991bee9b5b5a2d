"""Tokens by which programs use the REST API as a person."""

from datetime import datetime

from django.conf import settings
from django.db import models


class Scope(models.TextChoices):
    """What a token may be used for; never more than its user may do anyway."""

    READ = "read", "Read"
    CLAIMS_WRITE = "claims:write", "Read, and write claims and templates"
    ADMIN = "admin", "Everything the user may do"


class ApiToken(models.Model):
    """One token; only a keyed digest of it is kept, so it can be shown once only.

    Dies with its user: a disabled or deleted account's tokens are refused.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=100, help_text="What it is for, in the owner's words")
    prefix = models.CharField(max_length=16, unique=True, help_text="Shown, to tell tokens apart")
    digest = models.CharField(max_length=64, help_text="HMAC-SHA256 of the token, hexadecimal")
    scope = models.CharField(max_length=16, choices=Scope.choices)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True, blank=True, help_text="To the minute")
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("user", "name", "pk")

    def __str__(self) -> str:
        return f"{self.prefix} ({self.name})"

    def is_usable(self, now: datetime) -> bool:
        """Tell whether neither time nor its owner has ended it."""
        return self.revoked_at is None and now < self.expires_at
