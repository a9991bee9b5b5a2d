"""Nodes, namespaces, pods and quotas, as far as device allocation needs them."""

from django.db import models

from dra_console.mirror.models.cluster import Cluster, MirroredObject


class Node(MirroredObject):
    """A Node (v1)."""

    ready = models.BooleanField(null=True, help_text="Condition Ready; unset means not known")
    unschedulable = models.BooleanField(default=False)

    class Meta:
        ordering = ("name",)
        constraints = (
            models.UniqueConstraint(fields=("cluster", "name"), name="node_cluster_name"),
        )


class Namespace(MirroredObject):
    """A Namespace (v1)."""

    class Meta:
        ordering = ("name",)
        constraints = (
            models.UniqueConstraint(fields=("cluster", "name"), name="namespace_cluster_name"),
        )


class Pod(MirroredObject):
    """A Pod (v1) that names resource claims or the console as its scheduler, no other."""

    phase = models.CharField(max_length=16, blank=True)
    node_name = models.CharField(max_length=253, blank=True, help_text="Empty: not bound")
    scheduler_name = models.CharField(max_length=253)
    claim_names = models.JSONField(
        default=dict, help_text="Name in spec.resourceClaims to ResourceClaim name, once it exists"
    )

    class Meta:
        ordering = ("namespace", "name")
        constraints = (
            models.UniqueConstraint(
                fields=("cluster", "namespace", "name"), name="pod_namespace_name"
            ),
        )
        indexes = (
            models.Index(fields=("cluster", "scheduler_name", "node_name"), name="pod_queue"),
        )


class PodUse(models.Model):
    """What any pod of the cluster takes of its node, and nothing else of it.

    Kept for every Pod (v1), of which `Pod` shows those that matter to device allocation. Amounts
    are as `mirror.pod_requests` counts them.
    """

    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="+")
    uid = models.CharField(max_length=64)
    namespace = models.CharField(max_length=63)
    name = models.CharField(max_length=253)
    resource_version = models.CharField(max_length=64, help_text="Opaque")
    node_name = models.CharField(max_length=253, blank=True, help_text="Empty: not bound")
    is_finished = models.BooleanField(help_text="Takes nothing any more")
    is_mirrored = models.BooleanField(help_text="Has a row as `Pod`, too")
    cpu_milli = models.BigIntegerField()
    memory_bytes = models.BigIntegerField()
    ephemeral_storage_bytes = models.BigIntegerField()
    other_requests = models.JSONField(null=True, help_text="Units by resource; null: none")

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=("cluster", "namespace", "name"), name="pod_use_namespace_name"
            ),
        )
        indexes = (
            models.Index(
                fields=("cluster", "node_name"),
                condition=models.Q(is_finished=False) & ~models.Q(node_name=""),
                name="pod_use_of_node",
            ),
        )

    def __str__(self) -> str:
        return f"use of {self.namespace}/{self.name}"


class ResourceQuota(MirroredObject):
    """A ResourceQuota (v1)."""

    class Meta:
        ordering = ("namespace", "name")
        constraints = (
            models.UniqueConstraint(
                fields=("cluster", "namespace", "name"), name="quota_namespace_name"
            ),
        )
