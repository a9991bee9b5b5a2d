"""Blast radius: which claims and pods an edit hits, by namespace and with their priority.

A reader learns how many there are everywhere, and names where they may see claims.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from itertools import islice
from operator import itemgetter
from typing import Final

from dra_console.allocator.api_json import Json, JsonObject
from dra_console.allocator.model import ResourceClaim
from dra_console.mirror import models as mirror
from dra_console.scheduling.whatif.changing import Effect
from dra_console.scheduling.whatif.hits import Fate, Hit
from dra_console.scheduling.whatif.rights import Rights

ROWS_AT_ONCE: Final = 500
MOST_NAMED: Final = 200
"""Claims that one edit's answer names; all are counted."""


@dataclass(frozen=True, slots=True)
class PodFacts:
    """What of a pod says how bad it is to lose it; neither ever changes."""

    priority: int | None
    """`None`: not known, since the pod is not mirrored."""

    priority_class: str


UNKNOWN: Final = PodFacts(None, "")
FATES: Final = {fate: at for at, fate in enumerate(Fate)}
"""In the order in which they are told."""

PodFinder = Callable[[Iterable[str]], Mapping[str, PodFacts]]
"""Finds pods by UID."""


@dataclass(frozen=True, slots=True)
class HitPod:
    """A pod that uses a hit claim."""

    name: str
    facts: PodFacts


@dataclass(frozen=True, slots=True)
class HitClaim:
    """A hit claim with its pods."""

    namespace: str
    name: str
    fate: Fate
    seconds: int | None
    devices: tuple[str, ...]
    pods: tuple[HitPod, ...]


@dataclass(slots=True)
class NamespaceImpact:
    """What is hit in one namespace, or in all those together that the reader may not see."""

    namespace: str
    """Empty: other namespaces."""

    claims: int = 0
    evicted_claims: int = 0
    devices: int = 0
    leaving: dict[str, PodFacts] = field(default_factory=dict)
    """Pods that leave, by UID; one that uses several hit claims leaves once."""

    @property
    def evicted_pods(self) -> int:
        return len(self.leaving)

    @property
    def priorities(self) -> set[int]:
        """Return those of the pods that leave, as far as they are known."""
        return {pod.priority for pod in self.leaving.values() if pod.priority is not None}

    @property
    def unknown_priorities(self) -> int:
        """Count the pods that leave of which it is not known."""
        return sum(pod.priority is None for pod in self.leaving.values())


@dataclass(frozen=True, slots=True)
class Impact:
    """What one edit hits. Namespaces with the most pods to leave come first."""

    effect: Effect
    namespaces: tuple[NamespaceImpact, ...]
    claims: tuple[HitClaim, ...]
    """Those that may be named, up to a bound; what leaves comes first, highest priority first."""

    more_claims: int

    def total(self, fate: Fate) -> int:
        """Count the claims of one fate."""
        return sum(1 for hit in self.effect.hits if hit.fate is fate)

    @property
    def evicted_pods(self) -> int:
        return sum(each.evicted_pods for each in self.namespaces)


def impacts(
    effects: Sequence[Effect], *, rights: Rights, find_pods: PodFinder
) -> tuple[Impact, ...]:
    """Say whom each edit hits; edits that hit nobody by nature have an empty one."""
    uids = {uid for effect in effects for hit in effect.hits for uid in _pod_uids(hit.claim)}
    pods = find_pods(uids) if uids else {}
    return tuple(_impact(effect, rights, pods) for effect in effects)


def _impact(effect: Effect, rights: Rights, pods: Mapping[str, PodFacts]) -> Impact:
    by_namespace: dict[str, NamespaceImpact] = {}
    seen: list[tuple[tuple[int, int, str, str], Hit]] = []
    for hit in effect.hits:
        facts = {uid: pods.get(uid, UNKNOWN) for uid in _pod_uids(hit.claim)}
        is_seen = rights.sees_claims(hit.claim.namespace)
        label = hit.claim.namespace if is_seen else ""
        impact = by_namespace.get(label)
        if impact is None:
            impact = by_namespace[label] = NamespaceImpact(label)
        _count(impact, hit, facts)
        if is_seen:
            seen.append((_urgency(hit, facts.values()), hit))
    named = nsmallest(MOST_NAMED, seen, key=itemgetter(0))
    return Impact(
        effect,
        tuple(
            sorted(
                by_namespace.values(),
                key=lambda each: (-each.evicted_pods, -each.claims, each.namespace),
            )
        ),
        tuple(_claim(hit, pods) for _, hit in named),
        len(seen) - len(named),
    )


def _claim(hit: Hit, pods: Mapping[str, PodFacts]) -> HitClaim:
    return HitClaim(
        hit.claim.namespace,
        hit.claim.name,
        hit.fate,
        hit.seconds,
        tuple(str(each) for each in hit.devices),
        tuple(_pods(hit.claim, pods)),
    )


def _pods(claim: ResourceClaim, pods: Mapping[str, PodFacts]) -> Iterator[HitPod]:
    for consumer in claim.reserved_for:
        if consumer.resource == "pods":
            yield HitPod(consumer.name, pods.get(consumer.uid, UNKNOWN))


def _pod_uids(claim: ResourceClaim) -> Iterator[str]:
    return (each.uid for each in claim.reserved_for if each.resource == "pods")


def _count(impact: NamespaceImpact, hit: Hit, pods: Mapping[str, PodFacts]) -> None:
    impact.claims += 1
    impact.devices += len(hit.devices)
    if hit.is_evicted:
        impact.evicted_claims += 1
        impact.leaving |= pods


def _urgency(hit: Hit, pods: Iterable[PodFacts]) -> tuple[int, int, str, str]:
    highest = max((pod.priority or 0 for pod in pods), default=0)
    return (FATES[hit.fate], -highest, hit.claim.namespace, hit.claim.name)


def mirrored_pods(cluster: mirror.Cluster) -> PodFinder:
    """Find pods among the mirror's rows."""

    def find(uids: Iterable[str]) -> Mapping[str, PodFacts]:
        found = {}
        waiting = iter(uids)
        while some := list(islice(waiting, ROWS_AT_ONCE)):
            rows = mirror.Pod.objects.filter(cluster=cluster, uid__in=some).order_by()
            for uid, priority, name in rows.values_list(
                "uid", "raw__spec__priority", "raw__spec__priorityClassName"
            ):
                found[uid] = PodFacts(
                    priority if isinstance(priority, int) else 0,
                    name if isinstance(name, str) else "",
                )
        return found

    return find


def impact_json(impact: Impact) -> JsonObject:
    """Write what an edit hits."""
    namespaces: list[Json] = [
        {
            "namespace": each.namespace or None,
            "claims": each.claims,
            "evictedClaims": each.evicted_claims,
            "devices": each.devices,
            "evictedPods": each.evicted_pods,
            "highestPriority": max(each.priorities, default=None),
            "podsOfUnknownPriority": each.unknown_priorities,
        }
        for each in impact.namespaces
    ]
    claims: list[Json] = [
        {
            "namespace": each.namespace,
            "name": each.name,
            "fate": each.fate.value,
            "seconds": each.seconds,
            "devices": [*each.devices],
            "pods": [
                {
                    "name": pod.name,
                    "priority": pod.facts.priority,
                    "priorityClassName": pod.facts.priority_class,
                }
                for pod in each.pods
            ],
        }
        for each in impact.claims
    ]
    return {
        "devices": impact.effect.devices,
        "evictedPods": impact.evicted_pods,
        "fates": {fate.value: impact.total(fate) for fate in Fate},
        "namespaces": namespaces,
        "claims": claims,
        "moreClaims": impact.more_claims,
    }
