"""What people did in the clusters through this console."""

from django.conf import settings
from django.db import models


class Outcome(models.TextChoices):
    """How a write ended."""

    DONE = "done", "Done"
    REFUSED = "refused", "Refused by the API server"
    FAILED = "failed", "Failed, or no answer came"


class AuditEntry(models.Model):
    """One write, tried or done; never changed afterwards.

    Names are copied, so that it stays readable when account, cluster or object is gone.
    """

    at = models.DateTimeField(auto_now_add=True)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="audit_entries"
    )
    username = models.CharField(max_length=150)
    kubernetes_username = models.CharField(max_length=253, blank=True)
    cluster_name = models.CharField(max_length=63)
    verb = models.CharField(max_length=16, help_text="As the API server calls it, such as create")
    plural = models.CharField(max_length=63)
    namespace = models.CharField(max_length=63, blank=True)
    name = models.CharField(max_length=253, help_text="May end in - when the server was to choose")
    dry_run = models.BooleanField(default=False)
    outcome = models.CharField(max_length=16, choices=Outcome.choices)
    detail = models.TextField(blank=True, help_text="The API server's words if it was not done")
    diff = models.JSONField(
        default=list, help_text="List of {path, before?, after?}, path as JSON pointer"
    )

    class Meta:
        ordering = ("-at", "-pk")
        indexes = (
            models.Index(
                fields=("cluster_name", "plural", "namespace", "name"), name="audit_object"
            ),
        )
        verbose_name_plural = "audit entries"

    def __str__(self) -> str:
        return f"{self.username} {self.verb} {self.plural} {self.namespace}/{self.name}"
