"""What a page may show to the person who reads it."""

from dataclasses import dataclass

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser

from dra_console.access import rules
from dra_console.kube.kinds import RESOURCE_CLAIMS
from dra_console.mirror.models import Cluster


@dataclass(frozen=True, slots=True)
class Reader:
    """Whose claims the person may see, and whose are their own."""

    namespaces: frozenset[str] | None
    """Where they may list claims; None: everywhere."""

    def sees(self, namespace: str) -> bool:
        """Tell whether claims of this namespace may be named."""
        return self.namespaces is None or namespace in self.namespaces

    def owns(self, namespace: str) -> bool:
        """Tell whether this is a namespace of theirs.

        Whoever may see everything is no team's member by that alone.
        """
        return self.namespaces is not None and namespace in self.namespaces


def reader_of(user: AbstractBaseUser | AnonymousUser, cluster: Cluster) -> Reader:
    """Ask what the person may see.

    Raises:
        RightsUnknownError: the API server could not be asked.

    """
    return Reader(namespaces=rules.visible_namespaces(user, cluster, RESOURCE_CLAIMS))
