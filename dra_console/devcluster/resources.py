"""What the server serves: each kind with its verbs, short names and subresources.

Discovery, routing, OpenAPI and authorisation all read this one table.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from dra_console.kube.kinds import (
    DEVICE_CLASSES,
    DEVICE_TAINT_RULES,
    EVENTS,
    NAMESPACES,
    NODES,
    PODS,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_CLAIMS,
    RESOURCE_QUOTAS,
    RESOURCE_SLICES,
    SELF_SUBJECT_ACCESS_REVIEWS,
    SELF_SUBJECT_REVIEWS,
    SERVICE_ACCOUNTS,
    SUBJECT_ACCESS_REVIEWS,
    TOKEN_REVIEWS,
    Kind,
)

SELF_SUBJECT_RULES_REVIEWS: Final = Kind(
    "authorization.k8s.io",
    "v1",
    "selfsubjectrulesreviews",
    "SelfSubjectRulesReview",
    namespaced=False,
)
LOCAL_SUBJECT_ACCESS_REVIEWS: Final = Kind(
    "authorization.k8s.io",
    "v1",
    "localsubjectaccessreviews",
    "LocalSubjectAccessReview",
    namespaced=True,
)

OBJECT_VERBS: Final = (
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
)


@dataclass(frozen=True, slots=True)
class Subresource:
    """A part of an object with its own URL."""

    name: str
    verbs: tuple[str, ...]
    group: str
    version: str
    kind: str
    """Group, version and kind of its request body."""


@dataclass(frozen=True, slots=True)
class Resource:
    """One served kind."""

    kind: Kind
    singular: str
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = OBJECT_VERBS
    subresources: tuple[Subresource, ...] = ()

    @property
    def is_stored(self) -> bool:
        """Whether objects of it exist; reviews are only asked and answered."""
        return "get" in self.verbs


def _status(kind: Kind) -> Subresource:
    return Subresource("status", ("get", "patch", "update"), kind.group, kind.version, kind.kind)


def _review(kind: Kind) -> Resource:
    return Resource(kind, kind.kind.lower(), verbs=("create",))


RESOURCES: Final = (
    Resource(EVENTS, "event", ("ev",)),
    Resource(
        NAMESPACES,
        "namespace",
        ("ns",),
        verbs=tuple(verb for verb in OBJECT_VERBS if verb != "deletecollection"),
        subresources=(
            _status(NAMESPACES),
            Subresource("finalize", ("update",), "", "v1", "Namespace"),
        ),
    ),
    Resource(NODES, "node", ("no",), subresources=(_status(NODES),)),
    Resource(
        PODS,
        "pod",
        ("po",),
        ("all",),
        subresources=(
            _status(PODS),
            Subresource("binding", ("create",), "", "v1", "Binding"),
            Subresource("eviction", ("create",), "policy", "v1", "Eviction"),
        ),
    ),
    Resource(
        RESOURCE_QUOTAS, "resourcequota", ("quota",), subresources=(_status(RESOURCE_QUOTAS),)
    ),
    Resource(
        SERVICE_ACCOUNTS,
        "serviceaccount",
        ("sa",),
        subresources=(
            Subresource("token", ("create",), "authentication.k8s.io", "v1", "TokenRequest"),
        ),
    ),
    Resource(DEVICE_CLASSES, "deviceclass"),
    Resource(DEVICE_TAINT_RULES, "devicetaintrule", subresources=(_status(DEVICE_TAINT_RULES),)),
    Resource(RESOURCE_CLAIMS, "resourceclaim", subresources=(_status(RESOURCE_CLAIMS),)),
    Resource(RESOURCE_CLAIM_TEMPLATES, "resourceclaimtemplate"),
    Resource(RESOURCE_SLICES, "resourceslice"),
    _review(TOKEN_REVIEWS),
    _review(SELF_SUBJECT_REVIEWS),
    _review(SUBJECT_ACCESS_REVIEWS),
    _review(SELF_SUBJECT_ACCESS_REVIEWS),
    _review(SELF_SUBJECT_RULES_REVIEWS),
    _review(LOCAL_SUBJECT_ACCESS_REVIEWS),
)

BY_PATH: Final[Mapping[tuple[str, str, str], Resource]] = MappingProxyType(
    {
        (resource.kind.group, resource.kind.version, resource.kind.plural): resource
        for resource in RESOURCES
    }
)
"""Each resource by group, version and plural, as paths spell them."""

GROUPS: Final = tuple(
    dict.fromkeys(resource.kind.group for resource in RESOURCES if resource.kind.group)
)
"""Named API groups; each is served in the one version v1."""


def resources_of(group: str) -> tuple[Resource, ...]:
    """Return the resources of a group, of the core group for the empty name."""
    return tuple(resource for resource in RESOURCES if resource.kind.group == group)
