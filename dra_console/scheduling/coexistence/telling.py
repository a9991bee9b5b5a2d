"""What one reader is told of a finding: sentences, and no name that they may not know.

A finding is for whoever may see at least one of its claims. Claims of other namespaces are
counted; their names, pods and facts are not said.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType

from dra_console.allocator.api_json import object_of, objects_of
from dra_console.allocator.model import DeviceId, JsonObject
from dra_console.mirror.models import Cluster
from dra_console.scheduling.coexistence.findings import ClaimRef, FindingKind, PodRef, Severity
from dra_console.scheduling.coexistence.naming import Named
from dra_console.scheduling.coexistence.sentences import BY_KIND
from dra_console.scheduling.models import Conflict


@dataclass(frozen=True, slots=True)
class Told:
    """A finding as one reader may know it."""

    kind: FindingKind
    severity: Severity
    headline: str
    detail: str
    """More about it; may be empty."""

    todo: str
    """What to do, in one sentence."""

    claims: tuple[ClaimRef, ...]
    hidden_claims: int
    """Claims of namespaces that the reader may not see."""

    pods: tuple[PodRef, ...]
    pool: str
    device: DeviceId | None
    since: datetime

    may_be_released: bool
    """Whether taking the devices back here would end it; the API server is asked again then."""


def told_conflicts(
    cluster: Cluster, *, namespaces: Collection[str] | None, now: datetime
) -> list[Conflict]:
    """Read the findings that a reader may know of, the worst kinds first; None: all namespaces.

    What is still in its grace is left out.
    """
    rows = Conflict.objects.filter(cluster=cluster, told_from__lte=now)
    order = {kind.value: index for index, kind in enumerate(FindingKind)}
    visible = [
        row
        for row in rows.order_by("since", "pk")
        if row.kind in order
        and (namespaces is None or any(name in namespaces for name in row.namespaces))
    ]
    return sorted(visible, key=lambda row: order[row.kind])


def kinds_and_severities(
    cluster: Cluster, *, namespaces: Collection[str] | None, now: datetime
) -> list[tuple[str, str]]:
    """Read the kind and severity of each finding that a reader may know of; cheap."""
    rows = Conflict.objects.filter(cluster=cluster, told_from__lte=now).order_by()
    return [
        (kind, severity)
        for kind, severity, concerned in rows.values_list("kind", "severity", "namespaces")
        if namespaces is None or any(name in namespaces for name in concerned)
    ]


def told(conflict: Conflict, *, namespaces: Collection[str] | None) -> Told:
    """Say what the reader may know of one finding."""
    body: JsonObject = conflict.body
    everyone = [_claim(one) for one in objects_of(body.get("claims"))]
    claims = [one for one in everyone if namespaces is None or one.namespace in namespaces]
    pods = [
        one
        for one in map(_pod, objects_of(body.get("pods")))
        if namespaces is None or one.namespace in namespaces
    ]
    kind = FindingKind(conflict.kind)
    device = body.get("device")
    named = Named(
        claims=tuple(claims),
        hidden=len(everyone) - len(claims),
        pods=tuple(pods),
        pool=str(body.get("pool", "")),
        device=str(DeviceId(*map(str, device))) if isinstance(device, list) and device else "",
        facts={name: str(value) for name, value in object_of(body.get("facts")).items()},
    )
    said = BY_KIND[kind](named)
    return Told(
        kind=kind,
        severity=Severity(conflict.severity),
        headline=said.headline,
        detail=said.detail,
        todo=said.todo,
        claims=named.claims,
        hidden_claims=named.hidden,
        pods=named.pods,
        pool=named.pool,
        device=DeviceId(*map(str, device)) if isinstance(device, list) and device else None,
        since=conflict.since,
        may_be_released=bool(claims) and _is_releasable(kind, named.facts),
    )


def counts_of(conflicts: Iterable[Conflict]) -> Mapping[FindingKind, int]:
    """Count findings by kind, the worst first; kinds without any are left out."""
    counts = dict.fromkeys(FindingKind, 0)
    for conflict in conflicts:
        counts[FindingKind(conflict.kind)] += 1
    return MappingProxyType({kind: count for kind, count in counts.items() if count})


def _is_releasable(kind: FindingKind, facts: Mapping[str, str]) -> bool:
    match kind:
        case FindingKind.UNRESERVED:
            return "reserve_ahead" not in facts
        case FindingKind.STALE_RESERVATION:
            return facts["done"] == facts["consumers"]
        case FindingKind.STUCK_DELETION:
            return facts["blocker"] == "no-controller"
        case _:
            return False


def _claim(one: JsonObject) -> ClaimRef:
    return ClaimRef(*(str(one.get(name, "")) for name in ("namespace", "name", "uid", "note")))


def _pod(one: JsonObject) -> PodRef:
    return PodRef(
        namespace=str(one.get("namespace", "")),
        name=str(one.get("name", "")),
        note=str(one.get("note", "")),
        exists=one.get("exists") is True,
    )
