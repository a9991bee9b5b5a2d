"""Whether the mirror shows a cluster whole: not while one of its kinds is being listed.

The list of a fleet is written some pages at a time. Until it ends, what the mirror shows is of no
one moment: at first devices and claims are missing, later some rows are old and others new. A
device then seems to be gone, free though somebody holds it, or held by two.
"""

from collections.abc import Collection

from dra_console.kube.kinds import Kind
from dra_console.mirror.models import Cluster, Cursor


def being_listed(cluster: Cluster, kinds: Collection[Kind]) -> frozenset[str]:
    """Name those of these kinds that have not been listed to the end.

    A kind that is not served, or forbidden to the console, has nothing that could be waited for.
    """
    plurals = {kind.plural for kind in kinds}
    cursors = Cursor.objects.filter(cluster=cluster, plural__in=plurals)
    settled = cursors.exclude(served=True, resource_version="").values_list("plural", flat=True)
    return frozenset(plurals.difference(settled))
