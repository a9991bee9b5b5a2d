"""Which objects changed between two attempts, as far as the mirror keeps their history.

Claims, slices and classes have a history. Nodes, pods and taint rules have none, so a difference
that comes from them has no row here.
"""

from collections.abc import Collection
from datetime import datetime
from typing import Final

from django.db.models import Q, QuerySet

from dra_console.kube.kinds import DEVICE_CLASSES, RESOURCE_CLAIMS, RESOURCE_SLICES
from dra_console.mirror.models import Cluster, ObjectChange

BEARING: Final = ("allocated", "deallocated", "deleted")
"""What happens to a claim and bears on others."""


def changes_between(  # noqa: PLR0913 - each by name
    cluster: Cluster,
    *,
    after: datetime,
    until: datetime,
    own_uids: Collection[str],
    namespaces: Collection[str] | None,
    sees_inventory: bool,
) -> QuerySet[ObjectChange]:
    """Select what bears on an attempt's outcome, newest first, of what the reader may see.

    `namespaces` are those whose claims they may list (None: all), `sees_inventory` tells whether
    they may list slices. Of the claims at hand (`own_uids`) everything counts, of others what
    gives or takes devices.
    """
    wanted = Q(plural=RESOURCE_CLAIMS.plural) & (Q(uid__in=own_uids) | Q(happened__in=BEARING))
    if namespaces is not None:
        wanted &= Q(namespace__in=namespaces)
    if sees_inventory:
        wanted |= Q(plural__in=(RESOURCE_SLICES.plural, DEVICE_CLASSES.plural))
    return ObjectChange.objects.filter(
        wanted, cluster=cluster, seen_at__gt=after, seen_at__lte=until
    ).order_by("-seen_at", "-pk")
