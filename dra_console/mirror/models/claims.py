"""Claims, the templates they come from, and which claim holds which device."""

from django.db import models

from dra_console.mirror.models.cluster import Cluster, MirroredObject


class ClaimState(models.TextChoices):
    """What `allocation`, `reservedFor` and `deletionTimestamp` together say."""

    PENDING = "pending", "Pending"
    ALLOCATED = "allocated", "Allocated"
    RESERVED = "reserved", "Allocated and reserved"
    DELETING = "deleting", "Deleting"


class ResourceClaim(MirroredObject):
    """A ResourceClaim (resource.k8s.io/v1)."""

    state = models.CharField(max_length=16, choices=ClaimState.choices)
    allocation = models.JSONField(null=True, help_text="status.allocation, absent until allocated")
    allocated_at = models.DateTimeField(null=True, help_text="First seen with this allocation")
    reserved_for = models.JSONField(default=list, help_text="status.reservedFor")
    class_names = models.JSONField(default=list, help_text="Classes that its requests name")
    node_name = models.CharField(
        max_length=253, blank=True, help_text="The only node that the allocation allows"
    )
    owner_pod = models.CharField(
        max_length=253, blank=True, help_text="Pod that it was generated for"
    )
    template_name = models.CharField(
        max_length=253, blank=True, help_text="Template that it was generated from, if known"
    )

    class Meta:
        ordering = ("namespace", "name")
        constraints = (
            models.UniqueConstraint(
                fields=("cluster", "namespace", "name"), name="claim_namespace_name"
            ),
        )
        indexes = (
            models.Index(fields=("cluster", "uid"), name="claim_uid"),
            models.Index(fields=("cluster", "state", "namespace", "name"), name="claim_by_state"),
            models.Index(
                fields=("cluster", "node_name", "namespace", "name"), name="claim_by_node"
            ),
            models.Index(
                fields=("cluster", "-created_at", "namespace", "name"), name="claim_by_age"
            ),
            models.Index(
                fields=("cluster", "namespace", "template_name", "-created_at"),
                name="claim_of_template",
            ),
        )


class ResourceClaimTemplate(MirroredObject):
    """A ResourceClaimTemplate (resource.k8s.io/v1)."""

    class Meta:
        ordering = ("namespace", "name")
        constraints = (
            models.UniqueConstraint(
                fields=("cluster", "namespace", "name"), name="template_namespace_name"
            ),
        )


class DeviceAssignment(models.Model):
    """One device held by one claim for one request, from when to when.

    Outlives claim and device: names and UIDs are copied, so that history stays
    readable after deletion. Open while `released_at` is unset.
    """

    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="+")
    claim_uid = models.CharField(max_length=64)
    claim_namespace = models.CharField(max_length=63)
    claim_name = models.CharField(max_length=253)
    request = models.CharField(max_length=127, help_text="`request` or `request/subrequest`")
    driver = models.CharField(max_length=63)
    pool = models.CharField(max_length=253)
    device = models.CharField(max_length=63)
    share_id = models.CharField(max_length=36, blank=True)
    admin_access = models.BooleanField(default=False)
    consumed_capacity = models.JSONField(default=dict)
    assigned_at = models.DateTimeField()
    released_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ("-assigned_at", "pk")
        constraints = (
            models.UniqueConstraint(
                fields=("cluster", "claim_uid", "request", "driver", "pool", "device", "share_id"),
                condition=models.Q(released_at__isnull=True),
                name="assignment_open_once",
            ),
        )
        indexes = (
            models.Index(
                fields=("cluster", "driver", "pool", "device", "released_at"),
                name="assignment_of_device",
            ),
            models.Index(
                fields=("cluster", "driver", "pool", "device", "-assigned_at"),
                name="assignment_past",
            ),
            models.Index(fields=("cluster", "claim_uid"), name="assignment_of_claim"),
        )

    def __str__(self) -> str:
        return (
            f"{self.driver}/{self.pool}/{self.device} to {self.claim_namespace}/{self.claim_name}"
        )
