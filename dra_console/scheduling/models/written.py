"""Allocations that were sent to the API server but not yet seen in the mirror."""

from django.db import models

from dra_console.mirror.models import Cluster


class WrittenAllocation(models.Model):
    """A claim as we sent it, until the watch brings it back or the API server refuses it.

    A conflict on one claim does not stop two claims from getting one device, so a
    snapshot counts these beside the mirror's rows (`scheduling.world.snapshot`).
    """

    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="+")
    claim_uid = models.CharField(max_length=64)
    raw = models.JSONField(help_text="The ResourceClaim as sent, or as answered")
    written_at = models.DateTimeField()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("cluster", "claim_uid"), name="written_once_per_claim"),
        )

    def __str__(self) -> str:
        return f"allocation of {self.claim_uid} written at {self.written_at}"
