"""Nodes, namespaces, pods and quotas, as far as device allocation needs them."""

from django.db import models

from dra_console.mirror.models.cluster import MirroredObject


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
    """A Pod (v1) that names resource claims; others are not mirrored."""

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


class ResourceQuota(MirroredObject):
    """A ResourceQuota (v1)."""

    class Meta:
        ordering = ("namespace", "name")
        constraints = (
            models.UniqueConstraint(
                fields=("cluster", "namespace", "name"), name="quota_namespace_name"
            ),
        )
