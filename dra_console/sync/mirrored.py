"""Which kinds are mirrored, each into which table, and what its rows repeat."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from django.db.models import QuerySet

from dra_console.allocator.model import JsonObject
from dra_console.kube import kinds
from dra_console.kube.kinds import Kind
from dra_console.mirror import models
from dra_console.mirror.models.cluster import Cluster, MirroredObject
from dra_console.sync.columns import (
    ColumnsOf,
    claim_columns,
    is_pod_mirrored,
    no_columns,
    node_columns,
    pod_columns,
    slice_columns,
)


@dataclass(frozen=True, slots=True)
class Mirrored:
    """How one kind becomes rows."""

    kind: Kind
    model: type[MirroredObject]
    columns_of: ColumnsOf = no_columns

    concerns_us: Callable[[JsonObject], bool] = bool
    """Objects that it refuses are left out, and leave if they were in."""

    def rows(self, cluster: Cluster) -> QuerySet[MirroredObject]:
        """Return the rows of this kind of one cluster."""
        return self.model._default_manager.filter(cluster=cluster)  # noqa: SLF001 - Django's documented name


MIRRORED: Final[Mapping[str, Mirrored]] = MappingProxyType(
    {
        mirrored.kind.plural: mirrored
        for mirrored in (
            Mirrored(kinds.NAMESPACES, models.Namespace),
            Mirrored(kinds.NODES, models.Node, node_columns),
            Mirrored(kinds.DEVICE_CLASSES, models.DeviceClass),
            Mirrored(kinds.RESOURCE_SLICES, models.ResourceSlice, slice_columns),
            Mirrored(kinds.DEVICE_TAINT_RULES, models.DeviceTaintRule),
            Mirrored(kinds.RESOURCE_CLAIM_TEMPLATES, models.ResourceClaimTemplate),
            Mirrored(kinds.PODS, models.Pod, pod_columns, concerns_us=is_pod_mirrored),
            Mirrored(kinds.RESOURCE_CLAIMS, models.ResourceClaim, claim_columns),
            Mirrored(kinds.RESOURCE_QUOTAS, models.ResourceQuota),
        )
    }
)
"""By plural, in the order in which a first look needs them."""
