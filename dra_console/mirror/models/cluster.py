"""A cluster, how far each of its kinds has been followed, and what changed."""

from django.db import models


class Cluster(models.Model):
    """One API server that this console mirrors.

    Holds where the credentials are, never the credentials.
    """

    name = models.SlugField(max_length=63, unique=True)
    kubeconfig = models.CharField(
        max_length=4096, blank=True, help_text="Path of a kubeconfig file; empty means in-cluster"
    )
    context = models.CharField(max_length=253, blank=True)
    enabled = models.BooleanField(default=True)
    kube_system_uid = models.CharField(
        max_length=64, blank=True, help_text="UID of namespace kube-system: the cluster's identity"
    )

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name


class Cursor(models.Model):
    """How far one kind of one cluster has been followed.

    Changes in the same transaction as the rows it speaks for, so a crash neither
    loses nor repeats an event.
    """

    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="cursors")
    plural = models.CharField(max_length=63)
    resource_version = models.CharField(
        max_length=64, blank=True, help_text="Opaque; empty means list first"
    )
    fence = models.BigIntegerField(default=0, help_text="Newest lease that wrote here")
    served = models.BooleanField(default=True, help_text="False: not served, or forbidden to us")
    listed_at = models.DateTimeField(null=True)
    last_event_at = models.DateTimeField(null=True)
    last_contact_at = models.DateTimeField(
        null=True, help_text="Last answer of the API server for this kind, bookmarks included"
    )
    relists = models.PositiveIntegerField(default=0)
    error = models.TextField(blank=True, help_text="Last failure; empty after a success")
    error_status = models.PositiveSmallIntegerField(
        default=0,
        db_default=0,
        help_text="HTTP status of the last failure; 0: no usable answer came",
    )
    failures = models.PositiveIntegerField(
        default=0, db_default=0, help_text="Windows that failed, ever; refusals do not count"
    )

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("cluster", "plural"), name="cursor_cluster_plural"),
        )

    def __str__(self) -> str:
        return f"{self.cluster} {self.plural} at {self.resource_version or 'start'}"


class ApiServer(models.Model):
    """What the API server of a cluster said of itself and of us when it was last asked.

    Written by `sync.probe` alone. What was learnt once stays when it does not answer later;
    `answered_at` says how old it is.
    """

    cluster = models.OneToOneField(Cluster, models.CASCADE, related_name="api_server")
    asked_at = models.DateTimeField()
    answered_at = models.DateTimeField(null=True)
    error = models.TextField(blank=True, help_text="Why it gave no answer; empty after one")
    version = models.CharField(max_length=63, blank=True, help_text="gitVersion, such as v1.37.2")
    resource_versions = models.JSONField(
        default=list, help_text="Versions of resource.k8s.io that it serves, its favourite first"
    )
    username = models.TextField(blank=True, help_text="Who we are to it")

    def __str__(self) -> str:
        return f"API server of {self.cluster}"


class ObjectChange(models.Model):
    """Compact history of claims, slices and classes: what was seen to happen, and when."""

    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="+")
    plural = models.CharField(max_length=63)
    namespace = models.CharField(max_length=63, blank=True)
    name = models.CharField(max_length=253)
    uid = models.CharField(max_length=64)
    seen_at = models.DateTimeField()
    happened = models.CharField(max_length=63, help_text="Such as created, allocated, deleted")
    detail = models.JSONField(default=dict)

    class Meta:
        ordering = ("seen_at", "pk")
        indexes = (
            models.Index(fields=("cluster", "uid", "seen_at"), name="change_of_object"),
            models.Index(fields=("cluster", "seen_at"), name="change_by_time"),
        )

    def __str__(self) -> str:
        return f"{self.plural} {self.namespace}/{self.name} {self.happened}"


class MirroredObject(models.Model):
    """What every mirrored kind repeats of its object; `raw` is the object as last seen."""

    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="+")
    uid = models.CharField(max_length=64)
    namespace = models.CharField(max_length=63, blank=True)
    name = models.CharField(max_length=253)
    resource_version = models.CharField(
        max_length=64, help_text="Opaque; compare for equality only"
    )
    created_at = models.DateTimeField(help_text="metadata.creationTimestamp")
    deletion_requested_at = models.DateTimeField(null=True, help_text="metadata.deletionTimestamp")
    raw = models.JSONField()

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name
