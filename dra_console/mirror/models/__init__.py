"""Rows that repeat what the API servers last showed; written by `sync` alone."""

from dra_console.mirror.models.claims import (
    ClaimState,
    DeviceAssignment,
    ResourceClaim,
    ResourceClaimTemplate,
)
from dra_console.mirror.models.cluster import ApiServer, Cluster, Cursor, ObjectChange
from dra_console.mirror.models.inventory import (
    Device,
    DeviceClass,
    DeviceTaintRule,
    Pool,
    ResourceSlice,
)
from dra_console.mirror.models.problems import FoundBy, ObjectProblem
from dra_console.mirror.models.workloads import Namespace, Node, Pod, PodUse, ResourceQuota

__all__ = [
    "ApiServer",
    "ClaimState",
    "Cluster",
    "Cursor",
    "Device",
    "DeviceAssignment",
    "DeviceClass",
    "DeviceTaintRule",
    "FoundBy",
    "Namespace",
    "Node",
    "ObjectChange",
    "ObjectProblem",
    "Pod",
    "PodUse",
    "Pool",
    "ResourceClaim",
    "ResourceClaimTemplate",
    "ResourceQuota",
    "ResourceSlice",
]
