"""The kinds of objects that the console and the embedded cluster speak of, and their URLs.

A `Kind` names one version. Where a group is served in several versions (resource.k8s.io),
the newest is named here; everything else holds objects in that shape.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final
from urllib.parse import quote


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind in one version: what `apiVersion` and `kind` say, and where it is served."""

    group: str
    """API group; empty for the core group."""

    version: str
    plural: str
    kind: str
    namespaced: bool

    @property
    def api_version(self) -> str:
        """Spell `apiVersion` as objects carry it: `v1` or `group/version`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(
        self,
        namespace: str | None = None,
        name: str | None = None,
        subresource: str | None = None,
    ) -> str:
        """Spell the URL path of the collection, of one object, or of its subresource.

        Without `namespace` a namespaced kind's path spans all namespaces, as lists and
        watches use it.
        """
        parts = ["apis", self.group, self.version] if self.group else ["api", self.version]
        if namespace is not None and self.namespaced:
            parts += ["namespaces", namespace]
        parts.append(self.plural)
        if name is not None:
            parts.append(name)
        if subresource is not None:
            parts.append(subresource)
        return "/" + "/".join(quote(part, safe="") for part in parts)


NODES: Final = Kind("", "v1", "nodes", "Node", namespaced=False)
NAMESPACES: Final = Kind("", "v1", "namespaces", "Namespace", namespaced=False)
PODS: Final = Kind("", "v1", "pods", "Pod", namespaced=True)
EVENTS: Final = Kind("", "v1", "events", "Event", namespaced=True)
SERVICE_ACCOUNTS: Final = Kind("", "v1", "serviceaccounts", "ServiceAccount", namespaced=True)
LEASES: Final = Kind("coordination.k8s.io", "v1", "leases", "Lease", namespaced=True)
RESOURCE_QUOTAS: Final = Kind("", "v1", "resourcequotas", "ResourceQuota", namespaced=True)

RESOURCE_CLAIMS: Final = Kind(
    "resource.k8s.io", "v1", "resourceclaims", "ResourceClaim", namespaced=True
)
RESOURCE_CLAIM_TEMPLATES: Final = Kind(
    "resource.k8s.io", "v1", "resourceclaimtemplates", "ResourceClaimTemplate", namespaced=True
)
RESOURCE_SLICES: Final = Kind(
    "resource.k8s.io", "v1", "resourceslices", "ResourceSlice", namespaced=False
)
DEVICE_CLASSES: Final = Kind(
    "resource.k8s.io", "v1", "deviceclasses", "DeviceClass", namespaced=False
)
DEVICE_TAINT_RULES: Final = Kind(
    "resource.k8s.io", "v1", "devicetaintrules", "DeviceTaintRule", namespaced=False
)

SUBJECT_ACCESS_REVIEWS: Final = Kind(
    "authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview", namespaced=False
)
SELF_SUBJECT_ACCESS_REVIEWS: Final = Kind(
    "authorization.k8s.io",
    "v1",
    "selfsubjectaccessreviews",
    "SelfSubjectAccessReview",
    namespaced=False,
)
TOKEN_REVIEWS: Final = Kind(
    "authentication.k8s.io", "v1", "tokenreviews", "TokenReview", namespaced=False
)
SELF_SUBJECT_REVIEWS: Final = Kind(
    "authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview", namespaced=False
)

BY_PLURAL: Final[Mapping[str, Kind]] = MappingProxyType(
    {
        kind.plural: kind
        for kind in (
            NODES,
            NAMESPACES,
            PODS,
            EVENTS,
            SERVICE_ACCOUNTS,
            RESOURCE_QUOTAS,
            RESOURCE_CLAIMS,
            RESOURCE_CLAIM_TEMPLATES,
            RESOURCE_SLICES,
            DEVICE_CLASSES,
            DEVICE_TAINT_RULES,
            SUBJECT_ACCESS_REVIEWS,
            SELF_SUBJECT_ACCESS_REVIEWS,
            TOKEN_REVIEWS,
        )
    }
)
"""Each kind by its plural, as URLs and cursors name it."""
