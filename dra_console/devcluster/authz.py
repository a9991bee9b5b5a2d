"""Who may do what: a small static policy in place of RBAC objects.

A scenario gives the grants. Nothing is denied but what no grant allows, as in RBAC.
`system:masters` may do everything, which no grant has to say.
"""

from dataclasses import dataclass
from typing import Final

from dra_console.devcluster.authn import Identity

MASTERS_GROUP: Final = "system:masters"
EVERY: Final = "*"


@dataclass(frozen=True, slots=True)
class Grant:
    """One right: the subjects may use the verbs on the resources in the namespaces."""

    subjects: frozenset[str]
    """User names, and group names behind `group:`, as in `group:team-research`."""

    verbs: frozenset[str]
    """As in `get`, `list`, `impersonate`; `*` for every verb."""

    resources: frozenset[str]
    """Plural names, with the subresource behind a slash (`pods/binding`); `*` for everything."""

    namespaces: frozenset[str] | None = None
    """Where the right holds; `None` for every namespace and for cluster-scoped resources."""


@dataclass(frozen=True, slots=True)
class Attributes:
    """What a request wants to do."""

    verb: str
    group: str
    resource: str
    """Plural name; empty for a path that is no resource."""

    subresource: str = ""
    namespace: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class Policy:
    """All grants of the cluster."""

    grants: tuple[Grant, ...] = ()

    def allows(self, identity: Identity, attributes: Attributes) -> bool:
        """Whether some grant covers the request. Paths that are no resource are open to all."""
        if not attributes.resource or MASTERS_GROUP in identity.groups:
            return True
        return any(_covers(grant, attributes) for grant in self.grants_of(identity))

    def grants_of(self, identity: Identity) -> tuple[Grant, ...]:
        """Return what a user has been granted, alone or through a group."""
        subjects = {identity.username, *(f"group:{group}" for group in identity.groups)}
        return tuple(grant for grant in self.grants if not grant.subjects.isdisjoint(subjects))


def _covers(grant: Grant, attributes: Attributes) -> bool:
    resource = attributes.resource
    if attributes.subresource:
        resource = f"{resource}/{attributes.subresource}"
    return (
        not grant.verbs.isdisjoint({attributes.verb, EVERY})
        and not grant.resources.isdisjoint({resource, EVERY})
        and (grant.namespaces is None or attributes.namespace in grant.namespaces)
    )


def refusal(identity: Identity, attributes: Attributes) -> str:
    """Say in Kubernetes' words what the user may not do."""
    resource = attributes.resource
    if attributes.subresource:
        resource = f"{resource}/{attributes.subresource}"
    subject = f"{attributes.resource}.{attributes.group}" if attributes.group else resource
    named = f' "{attributes.name}"' if attributes.name else ""
    scope = (
        f'in the namespace "{attributes.namespace}"'
        if attributes.namespace
        else "at the cluster scope"
    )
    return (
        f'{subject}{named} is forbidden: User "{identity.username}" cannot {attributes.verb}'
        f' resource "{resource}" in API group "{attributes.group}" {scope}'
    )
