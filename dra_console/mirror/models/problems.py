"""Objects that something in them keeps from being mirrored, or used, as they are."""

from django.db import models

from dra_console.mirror.models.cluster import Cluster


class FoundBy(models.TextChoices):
    """Who stumbled over an object, and so what does not happen with it."""

    MIRROR = "mirror", "Mirror"
    """It is not mirrored in its newest version, or not to the last character."""

    ALLOCATOR = "allocator", "Allocator"
    """It is mirrored whole; nothing is allocated from it or for it."""


class ObjectProblem(models.Model):
    """What is wrong with one object; gone as soon as a version of it does without.

    Written by `sync.problems` and `scheduling.world.left_out`, each its own rows. What else is odd
    about an object and stops nobody is told where the object is shown.
    """

    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="+")
    found_by = models.CharField(max_length=16, choices=FoundBy.choices)
    plural = models.CharField(max_length=63)
    namespace = models.CharField(max_length=63, blank=True)
    name = models.CharField(max_length=253, blank=True, help_text="Empty: it names none")
    path = models.TextField(blank=True, help_text="Of the field; empty: the whole object")
    message = models.TextField()
    seen_at = models.DateTimeField(help_text="Since when this is known of it")

    class Meta:
        ordering = ("plural", "namespace", "name", "found_by")
        constraints = (
            models.UniqueConstraint(
                fields=("cluster", "found_by", "plural", "namespace", "name"),
                name="problem_of_object",
            ),
        )

    def __str__(self) -> str:
        return f"{self.plural} {self.namespace}/{self.name}: {self.path}: {self.message}"
