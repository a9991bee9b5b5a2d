"""What the latest looks for conflicts found, and what they looked at."""

from django.db import models

from dra_console.mirror.models import Cluster


class Conflict(models.Model):
    """One finding that stands, known since when; gone as soon as it stands no longer.

    Written by `scheduling.coexistence.record` alone. `body` is the finding's names and facts;
    `scheduling.coexistence.telling` makes sentences of them for one reader.
    """

    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="+")
    kind = models.CharField(max_length=32)
    key_digest = models.CharField(max_length=64, help_text="Names it among those of its kind")
    severity = models.CharField(max_length=16)
    namespaces = models.JSONField(default=list, help_text="Of the claims that it concerns")
    body = models.JSONField()
    since = models.DateTimeField()
    told_from = models.DateTimeField(
        help_text="Before that it is the ordinary course of things, and not told"
    )

    class Meta:
        ordering = ("kind", "since", "pk")
        constraints = (
            models.UniqueConstraint(
                fields=("cluster", "kind", "key_digest"), name="conflict_once_per_key"
            ),
        )

    def __str__(self) -> str:
        return f"{self.kind} in {self.cluster} since {self.since}"


class ConflictCheck(models.Model):
    """The latest look for conflicts in a cluster."""

    cluster = models.OneToOneField(
        Cluster, models.CASCADE, primary_key=True, related_name="conflict_check"
    )
    checked_at = models.DateTimeField()
    claims = models.PositiveIntegerField(help_text="Allocated or being deleted, looked at")
    devices = models.PositiveIntegerField(null=True, help_text="Published; unset: not known")
    left_out = models.PositiveIntegerField(default=0, help_text="Findings beyond those kept")
    unknown_kinds = models.JSONField(
        default=list, help_text="Kinds that are not mirrored, so that nothing is said of them"
    )
    seconds = models.FloatField(help_text="How long the look took")

    def __str__(self) -> str:
        return f"conflicts of {self.cluster} checked at {self.checked_at}"
