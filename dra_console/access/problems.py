"""Which problems of objects a reader may know of: those of objects that they may list."""

from django.db.models import Q, QuerySet

from dra_console.access import rules
from dra_console.access.rules import Account
from dra_console.kube.kinds import BY_PLURAL
from dra_console.mirror.models import Cluster, ObjectProblem


def visible_problems(user: Account, cluster: Cluster) -> QuerySet[ObjectProblem]:
    """Select the problems of a cluster's objects that the user may list.

    Raises:
        RightsUnknownError: the API server could not be asked.

    """
    told = ObjectProblem.objects.filter(cluster=cluster)
    visible = Q(pk__in=[])
    for plural in told.order_by("plural").values_list("plural", flat=True).distinct():
        kind = BY_PLURAL.get(plural)
        namespaces = rules.visible_namespaces(user, cluster, kind) if kind else frozenset()
        if namespaces is None:
            visible |= Q(plural=plural)
        elif namespaces:
            visible |= Q(plural=plural, namespace__in=namespaces)
    return told.filter(visible)
