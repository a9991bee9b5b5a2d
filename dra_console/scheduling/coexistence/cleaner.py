"""Whether anybody cleans up after pods here: kube-controller-manager's lease.

A lease that is renewed says yes. Without one nothing is certain: it may run as a single
process without leader election, or where the console may not look. Then only what stays
uncleaned tells (`claim_findings`), and a person decides.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.core.cache import cache
from redis.exceptions import RedisError

from dra_console.allocator.api_json import object_of
from dra_console.kube.errors import ApiError, ForbiddenError, NotFoundError
from dra_console.kube.kinds import LEASES
from dra_console.mirror.clusters import client_of
from dra_console.mirror.models import Cluster

NAMESPACE: Final = "kube-system"
NAME: Final = "kube-controller-manager"
RENEWED_WITHIN: Final = timedelta(minutes=1)
REMEMBERED_SECONDS: Final = 30


@dataclass(frozen=True, slots=True)
class Cleaner:
    """What is known of kube-controller-manager."""

    is_running: bool | None
    """None: not known."""

    words: str


def cleaner_of(cluster: Cluster, *, now: datetime) -> Cleaner:
    """Ask whether kube-controller-manager holds its lease, at most every 30 seconds."""
    key = f"cleaner:{cluster.pk}"
    try:
        remembered = cache.get(key)
        if isinstance(remembered, Cleaner):
            return remembered
        found = _asked(cluster, now=now)
        cache.set(key, found, timeout=REMEMBERED_SECONDS)
    except RedisError:
        return _asked(cluster, now=now)
    return found


def _asked(cluster: Cluster, *, now: datetime) -> Cleaner:
    try:
        lease = client_of(cluster).get(LEASES, NAME, namespace=NAMESPACE)
    except NotFoundError:
        return Cleaner(
            None,
            f"There is no lease {NAMESPACE}/{NAME}: kube-controller-manager does not run here, or"
            " runs without leader election.",
        )
    except ForbiddenError:
        return Cleaner(
            None,
            f"Whether kube-controller-manager runs is not known: the console may not read lease"
            f" {NAMESPACE}/{NAME}.",
        )
    except ApiError as error:
        return Cleaner(None, f"Whether kube-controller-manager runs is not known: {error.message}.")
    renewed = object_of(lease.get("spec")).get("renewTime")
    try:
        age = now - datetime.fromisoformat(str(renewed))
    except ValueError:
        return Cleaner(None, "kube-controller-manager's lease does not say when it was renewed.")
    seconds = max(0, round(age.total_seconds()))
    if age <= RENEWED_WITHIN:
        return Cleaner(True, f"kube-controller-manager renewed its lease {seconds} s ago.")
    return Cleaner(
        False,
        f"kube-controller-manager renewed its lease {seconds} s ago for the last time: it does"
        " not run.",
    )
