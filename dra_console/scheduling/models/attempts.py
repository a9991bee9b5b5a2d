"""One try to allocate a claim, with the reason for its outcome."""

from django.db import models

from dra_console.mirror.models import Cluster


class Outcome(models.TextChoices):
    """How a try ended; spelled as `allocator.explain` spells it."""

    FITS = "fits", "Fits"
    DOES_NOT_FIT = "does-not-fit", "Does not fit now"
    BROKEN = "broken", "The input is broken"
    BUDGET = "budget", "Search ended by its step budget"


class AttemptQuerySet(models.QuerySet["Attempt"]):
    """Questions about attempts."""

    def of(self, cluster: Cluster, claim_uid: str) -> "AttemptQuerySet":
        """Select one claim's attempts, newest first."""
        return self.filter(cluster=cluster, claim_uid=claim_uid).order_by("-last_at", "-pk")

    def latest_of(self, cluster: Cluster, claim_uid: str) -> "Attempt | None":
        """Return the newest attempt of a claim, if it had one."""
        return self.of(cluster, claim_uid).first()


class Attempt(models.Model):
    """One try, or several that ended alike: `repeats` counts those after the first.

    Written by `scheduling.attempts.record` alone. Names are copied, since a claim may be gone
    while its attempts are still read.
    """

    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="+")
    claim_uid = models.CharField(max_length=64)
    namespace = models.CharField(max_length=63)
    claim_name = models.CharField(max_length=253)
    pod_name = models.CharField(max_length=253, blank=True, help_text="Pod it was tried for")
    outcome = models.CharField(max_length=16, choices=Outcome.choices)
    headline = models.TextField()
    explanation = models.JSONField(
        help_text="As `allocator.explanation.folding` shapes it, bounded"
    )
    digest = models.CharField(max_length=64, help_text="Equal for explanations that say the same")
    node_name = models.CharField(max_length=253, blank=True, help_text="Where it fits")
    steps = models.PositiveBigIntegerField(help_text="Search effort of the newest repetition")
    started_at = models.DateTimeField()
    last_at = models.DateTimeField()
    repeats = models.PositiveIntegerField(default=0)

    objects = AttemptQuerySet.as_manager()

    class Meta:
        ordering = ("-last_at", "-pk")
        indexes = (
            models.Index(fields=("cluster", "claim_uid", "-last_at"), name="attempt_of_claim"),
            models.Index(fields=("cluster", "last_at"), name="attempt_age"),
        )

    def __str__(self) -> str:
        return f"{self.namespace}/{self.claim_name}: {self.headline}"
