"""Which claims a reader may know of, and the rows that list them."""

from collections.abc import Iterable

from django.db.models import QuerySet

from dra_console.mirror.models import Cluster, DeviceAssignment, ResourceClaim
from dra_console.scheduling.models import TriedClaim
from dra_console.web.presenters.claim_table import ClaimRow, claim_rows
from dra_console.web.presenters.reader import Reader


def visible_claims(cluster: Cluster, reader: Reader) -> QuerySet[ResourceClaim]:
    """Select the claims that the reader may know of."""
    selected = ResourceClaim.objects.filter(cluster=cluster)
    if reader.namespaces is None:
        return selected
    return selected.filter(namespace__in=reader.namespaces)


def rows_of(cluster: Cluster, claims: list[ResourceClaim]) -> tuple[ClaimRow, ...]:
    """List claims with their devices and reasons, in two queries."""
    uids = [claim.uid for claim in claims]
    return claim_rows(
        claims,
        assignments=DeviceAssignment.objects.filter(
            cluster=cluster, claim_uid__in=uids, released_at=None
        ).order_by("pk"),
        reasons=newest_headlines(cluster, uids),
    )


def newest_headlines(cluster: Cluster, claim_uids: Iterable[str]) -> dict[str, str]:
    """Say what the newest attempt of each claim said, by the claim's UID."""
    tried = TriedClaim.objects.filter(
        cluster=cluster, claim_uid__in=claim_uids, attempt__is_newest=True
    ).order_by("attempt__last_at", "attempt_id")
    return dict(tried.values_list("claim_uid", "attempt__headline"))
