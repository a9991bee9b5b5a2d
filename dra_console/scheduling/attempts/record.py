"""Keep what was tried for a claim: folded when it says the same, bounded in number and age.

Two tries say the same when outcome, sentence and node agree. What else changed, such as who
holds a device that was taken before and after, is brought up to date in the newest attempt:
on a busy cluster it changes every few seconds, and would push the history out.
"""

import hashlib
from datetime import datetime, timedelta

from dra_console import events
from dra_console.allocator.explanation.explain import Explanation
from dra_console.mirror.models import Cluster, ResourceClaim
from dra_console.scheduling.models import Attempt

KEPT_PER_CLAIM = 20
DEVICES_LISTED = 2_000
"""Devices that a stored explanation names, those of the closest nodes; it counts the rest."""

KEPT_AFTER_LAST = timedelta(days=7)


def record(
    claim: ResourceClaim, explanation: Explanation, *, pod_name: str, at: datetime
) -> Attempt:
    """Store one try; a repetition of the newest one only counts up."""
    shaped = explanation.to_json(most_devices=DEVICES_LISTED)
    digest = _digest(explanation)
    newest = Attempt.objects.latest_of(claim.cluster, claim.uid)
    if newest is not None and newest.digest == digest:
        is_news = newest.explanation != shaped
        newest.repeats += 1
        newest.last_at = at
        newest.steps = explanation.steps
        newest.explanation = shaped
        newest.save(update_fields=["repeats", "last_at", "steps", "explanation"])
        if is_news:
            events.publish_on_commit(events.claim_topic(claim.cluster_id, claim.uid))
        return newest
    attempt = Attempt.objects.create(
        cluster=claim.cluster,
        claim_uid=claim.uid,
        namespace=claim.namespace,
        claim_name=claim.name,
        pod_name=pod_name,
        outcome=explanation.outcome.value,
        headline=explanation.headline,
        explanation=shaped,
        digest=digest,
        node_name=explanation.node or "",
        steps=explanation.steps,
        started_at=at,
        last_at=at,
    )
    _forget_oldest(claim.cluster, claim.uid)
    events.publish_on_commit(events.claim_topic(claim.cluster_id, claim.uid))
    return attempt


def forget_old(cluster: Cluster, *, now: datetime) -> int:
    """Delete attempts that ended long ago; return how many."""
    deleted, _ = Attempt.objects.filter(cluster=cluster, last_at__lt=now - KEPT_AFTER_LAST).delete()
    return deleted


def _forget_oldest(cluster: Cluster, claim_uid: str) -> None:
    kept = Attempt.objects.of(cluster, claim_uid).values_list("pk", flat=True)[:KEPT_PER_CLAIM]
    Attempt.objects.of(cluster, claim_uid).exclude(pk__in=list(kept)).delete()


def _digest(explanation: Explanation) -> str:
    """Hash what makes two tries the same."""
    said = (explanation.outcome.value, explanation.headline, explanation.node or "")
    return hashlib.sha256("\0".join(said).encode()).hexdigest()
