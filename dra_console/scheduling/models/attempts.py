"""What was tried for a pod or a claim that waits, with the reason for its outcome."""

from typing import Any

from django.db import models

from dra_console.mirror.models import Cluster
from dra_console.scheduling.models.stand_ins import with_names


class Outcome(models.TextChoices):
    """How a try ended; the first four are spelled as `allocator.explain` spells them."""

    FITS = "fits", "Fits"
    DOES_NOT_FIT = "does-not-fit", "Does not fit now"
    BROKEN = "broken", "The input is broken"
    BUDGET = "budget", "Search ended by its step budget"
    WAITS = "waits", "Waits for something else"
    """It could not be tried: an object that it names is missing, or it is held back."""


class KeptExplanation(models.Model):
    """What was said of everybody who asks for the same, kept once.

    Own claims have stand-ins for names (`stand_ins`), so that it is true of each of them.
    """

    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="+")
    digest = models.CharField(max_length=64)
    body = models.JSONField(
        help_text="As `allocator.explanation.folding` shapes it, bounded; `cut` says if it was cut"
    )
    size_bytes = models.PositiveIntegerField()
    used_at = models.DateTimeField(help_text="An attempt began to refer to it")

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("cluster", "digest"), name="explanation_kept_once"),
        )

    def __str__(self) -> str:
        return f"explanation {self.digest[:12]}"


class AttemptQuerySet(models.QuerySet["Attempt"]):
    """Questions about attempts."""

    def of(self, cluster: Cluster, claim_uid: str) -> "AttemptQuerySet":
        """Select one claim's attempts, newest first."""
        return self.filter(claims__cluster=cluster, claims__claim_uid=claim_uid).order_by(
            "-last_at", "-pk"
        )

    def latest_of(self, cluster: Cluster, claim_uid: str) -> "Attempt | None":
        """Return the newest attempt of a claim, if it had one."""
        return self.of(cluster, claim_uid).select_related("kept").first()


class Attempt(models.Model):
    """One try, or several that ended alike: `repeats` counts those after the first.

    Of a pod all claims are tried together. Written by `scheduling.attempts.record` alone. Names
    are copied, since pod and claims may be gone while their attempts are still read.
    """

    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="+")
    subject_uid = models.CharField(max_length=64, help_text="Of the pod; without one, of the claim")
    namespace = models.CharField(max_length=63)
    pod_name = models.CharField(max_length=253, blank=True, help_text="Pod it was tried for")
    claim_uid = models.CharField(max_length=64, blank=True, help_text="Of the first claim")
    claim_name = models.CharField(
        max_length=253, blank=True, help_text="First claim; empty: none is made yet"
    )
    claim_names = models.JSONField(default=list, help_text="All claims, in the pod's order")
    signature = models.CharField(
        max_length=64, blank=True, help_text="Equal where the same is asked for; empty: not known"
    )
    outcome = models.CharField(max_length=16, choices=Outcome.choices)
    headline = models.TextField()
    kept = models.ForeignKey(KeptExplanation, models.RESTRICT, related_name="attempts")
    digest = models.CharField(max_length=64, help_text="Equal for explanations that say the same")
    node_name = models.CharField(max_length=253, blank=True, help_text="Where it fits")
    steps = models.PositiveBigIntegerField(help_text="Search effort of the newest repetition")
    started_at = models.DateTimeField()
    last_at = models.DateTimeField()
    repeats = models.PositiveIntegerField(default=0)
    is_newest = models.BooleanField(default=True, help_text="Of its pod or claim")

    objects = AttemptQuerySet.as_manager()

    class Meta:
        ordering = ("-last_at", "-pk")
        indexes = (
            models.Index(fields=("cluster", "subject_uid"), name="attempt_of_subject"),
            models.Index(fields=("cluster", "last_at"), name="attempt_age"),
            models.Index(
                fields=("cluster", "namespace"),
                condition=models.Q(is_newest=True),
                name="attempt_newest",
            ),
        )

    def __str__(self) -> str:
        return f"{self.namespace}/{self.pod_name or self.claim_name}: {self.headline}"

    @property
    def explanation(self) -> dict[str, Any]:
        """Give what was said, with the names of this attempt's own claims."""
        return with_names(self.kept.body, namespace=self.namespace, claim_names=self.claim_names)


class TriedClaim(models.Model):
    """One of the claims that an attempt is about."""

    attempt = models.ForeignKey(Attempt, models.CASCADE, related_name="claims")
    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="+")
    claim_uid = models.CharField(max_length=64)

    class Meta:
        indexes = (models.Index(fields=("cluster", "claim_uid"), name="tried_claim_uid"),)

    def __str__(self) -> str:
        return f"claim {self.claim_uid} in attempt {self.attempt_id}"
