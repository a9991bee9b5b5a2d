"""Which attempts a reader may know of."""

from django.db.models import QuerySet

from dra_console.mirror.models import Cluster
from dra_console.scheduling.models import Attempt
from dra_console.web.presenters.reader import Reader


def visible_attempts(cluster: Cluster, reader: Reader) -> QuerySet[Attempt]:
    """Select the attempts for claims and pods of namespaces whose claims the reader may list."""
    selected = Attempt.objects.filter(cluster=cluster)
    if reader.namespaces is None:
        return selected
    return selected.filter(namespace__in=reader.namespaces)
