"""What the drivers publish, and the classes that select from it."""

from django.db import models

from dra_console.mirror.models.cluster import Cluster, MirroredObject


class ResourceSlice(MirroredObject):
    """A ResourceSlice (resource.k8s.io/v1)."""

    driver = models.CharField(max_length=63)
    pool = models.CharField(max_length=253)
    pool_generation = models.BigIntegerField()
    pool_slice_count = models.BigIntegerField()
    node_name = models.CharField(max_length=253, blank=True, help_text="Empty: not one node's")

    class Meta:
        ordering = ("driver", "pool", "name")
        constraints = (
            models.UniqueConstraint(fields=("cluster", "name"), name="slice_cluster_name"),
        )
        indexes = (
            models.Index(fields=("cluster", "driver", "pool"), name="slice_of_pool"),
            models.Index(fields=("cluster", "node_name", "name"), name="slice_by_node"),
            models.Index(fields=("cluster", "pool", "name"), name="slice_by_pool"),
        )


class Pool(models.Model):
    """Slices of one driver and pool name, folded: generation, completeness, problem.

    Derived by `sync.reconcile` whenever one of its slices changes.
    """

    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="+")
    driver = models.CharField(max_length=63)
    name = models.CharField(max_length=253)
    node_name = models.CharField(max_length=253, blank=True)
    generation = models.BigIntegerField()
    slices_seen = models.PositiveIntegerField()
    slices_expected = models.PositiveIntegerField()
    problem = models.TextField(blank=True, help_text="Why no device of it can be allocated")

    class Meta:
        ordering = ("driver", "name")
        constraints = (
            models.UniqueConstraint(fields=("cluster", "driver", "name"), name="pool_identity"),
        )

    def __str__(self) -> str:
        return f"{self.driver}/{self.name}"

    @property
    def is_complete(self) -> bool:
        """Tell whether every slice of the newest generation has been seen."""
        return self.slices_seen == self.slices_expected


class Device(models.Model):
    """One device of the newest generation of its pool."""

    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="+")
    slice = models.ForeignKey(ResourceSlice, models.CASCADE, related_name="devices")
    driver = models.CharField(max_length=63)
    pool = models.CharField(max_length=253)
    name = models.CharField(max_length=63)
    node_name = models.CharField(max_length=253, blank=True)
    position = models.PositiveIntegerField(help_text="Place in the slice: the allocator's order")
    product_name = models.CharField(max_length=64, blank=True, help_text="Empty: not published")
    parent = models.CharField(
        max_length=63, blank=True, help_text="Device name of the GPU that this is a partition of"
    )
    memory_bytes = models.BigIntegerField(null=True, help_text="Capacity `memory`, if published")
    attributes = models.JSONField(default=dict, help_text="As published, by qualified name")
    capacity = models.JSONField(default=dict)
    consumes_counters = models.JSONField(default=list)
    taints = models.JSONField(default=list, help_text="Published taints; rules come on top")

    class Meta:
        ordering = ("driver", "pool", "slice__name", "position")
        constraints = (models.UniqueConstraint(fields=("slice", "name"), name="device_slice_name"),)
        indexes = (
            models.Index(fields=("cluster", "driver", "pool", "name"), name="device_identity"),
            models.Index(fields=("cluster", "node_name"), name="device_node"),
        )

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}/{self.name}"


class DeviceClass(MirroredObject):
    """A DeviceClass (resource.k8s.io/v1)."""

    class Meta:
        ordering = ("name",)
        constraints = (
            models.UniqueConstraint(fields=("cluster", "name"), name="class_cluster_name"),
        )


class DeviceTaintRule(MirroredObject):
    """A DeviceTaintRule (resource.k8s.io/v1)."""

    class Meta:
        ordering = ("name",)
        constraints = (
            models.UniqueConstraint(fields=("cluster", "name"), name="taintrule_cluster_name"),
        )
