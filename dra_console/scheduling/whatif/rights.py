"""Whose objects the reader of a scenario may see, as `access.rules` says."""

from dataclasses import dataclass

from dra_console.access.rules import Account, visible_namespaces
from dra_console.kube.kinds import RESOURCE_CLAIM_TEMPLATES, RESOURCE_CLAIMS
from dra_console.mirror.models import Cluster


@dataclass(frozen=True, slots=True)
class Rights:
    """Namespaces whose claims and templates may be named; `None` means all."""

    claims: frozenset[str] | None
    templates: frozenset[str] | None

    def sees_claims(self, namespace: str) -> bool:
        """Tell whether claims of a namespace may be named."""
        return self.claims is None or namespace in self.claims

    def sees_templates(self, namespace: str) -> bool:
        """Tell whether templates of a namespace may be named."""
        return self.templates is None or namespace in self.templates


def rights_of(user: Account, cluster: Cluster) -> Rights:
    """Ask what the person may see.

    Raises:
        RightsUnknownError: the API server could not be asked.

    """
    return Rights(
        claims=visible_namespaces(user, cluster, RESOURCE_CLAIMS),
        templates=visible_namespaces(user, cluster, RESOURCE_CLAIM_TEMPLATES),
    )
