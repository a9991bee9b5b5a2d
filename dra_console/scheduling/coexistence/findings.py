"""What can be wrong, or worth knowing, where several parties allocate and take back devices.

A finding holds names and facts, no sentences: who reads it decides which of the names may be
said (`telling`). Its key stays the same from one look to the next, so that it is known since
when it stands.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from dra_console.allocator.model import DeviceId, JsonObject

CLAIMS_NAMED: Final = 50
"""Claims that one finding names; of a whole pool there may be more."""


class FindingKind(StrEnum):
    """What was found; in the order in which it matters."""

    DOUBLE_BOOKING = "double-booking"
    """A device that is used exclusively is in two allocations, or in one and in a share."""

    OVERDRAWN_CAPACITY = "overdrawn-capacity"
    """The shares of a device add up to more than it has (KEP-5075)."""

    OVERDRAWN_COUNTERS = "overdrawn-counters"
    """Partitions that overlap are held at once: they draw more than their pool has (KEP-4815)."""

    NO_EXECUTE = "no-execute"
    """A held device has a taint with effect NoExecute (KEP-5055)."""

    VANISHED_DEVICE = "vanished-device"
    """A held device is published no longer, or its whole pool is gone."""

    INCOMPLETE_POOL = "incomplete-pool"
    """Devices are held of a pool of whose newest generation slices are missing."""

    STUCK_DELETION = "stuck-deletion"
    """A claim was deleted and is still there."""

    STALE_RESERVATION = "stale-reservation"
    """A claim is reserved for a pod that is gone or finished, and nobody takes it back."""

    UNRESERVED = "unreserved"
    """A claim holds devices and is reserved for nobody."""

    FOREIGN = "foreign-allocation"
    """Another scheduler gave away a device that is meant for the console alone."""

    NO_MATCH = "no-match"
    """A held device is not what the claim asks for any more; the claim stays valid."""


class Severity(StrEnum):
    """How much it matters, in words that pages show."""

    HARM = "harm"
    """Workloads are, or may be, broken by it now."""

    ATTENTION = "attention"
    """It does not mend itself; somebody has to decide."""

    INFORMATION = "information"
    """Worth knowing; nothing has to be done."""


@dataclass(frozen=True, slots=True)
class ClaimRef:
    """A claim that a finding concerns."""

    namespace: str
    name: str
    uid: str

    note: str = ""
    """What of it is concerned, such as a device, a request or an amount; names no other object."""

    def to_json(self) -> JsonObject:
        return {
            "namespace": self.namespace,
            "name": self.name,
            "uid": self.uid,
            "note": self.note,
        }


@dataclass(frozen=True, slots=True)
class PodRef:
    """A consumer in a claim's `status.reservedFor`, of the claim's namespace."""

    namespace: str
    name: str

    note: str
    """Its state, such as `Running on gpu-01` and `no longer exists`."""

    exists: bool = True

    def to_json(self) -> JsonObject:
        return {
            "namespace": self.namespace,
            "name": self.name,
            "note": self.note,
            "exists": self.exists,
        }


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was found."""

    kind: FindingKind
    key: str
    """Names the finding among those of its kind, now and at the next look."""

    severity: Severity
    claims: tuple[ClaimRef, ...]
    """At most `CLAIMS_NAMED`; the first one is what the finding is about."""

    pool: str = ""
    """`driver/pool`; empty if it is about no one pool."""

    device: DeviceId | None = None
    pods: tuple[PodRef, ...] = ()
    facts: Mapping[str, str] = field(default_factory=dict, hash=False)
    """What else sentences need, by a name; no name of an object that has a namespace."""

    since: datetime | None = None
    """Since when it stands, if the objects say so; else it is known since it was first seen."""

    grace: timedelta = timedelta(0)
    """For so long it is the ordinary course of things, and not told."""

    @property
    def namespaces(self) -> frozenset[str]:
        """Name the namespaces of the claims."""
        return frozenset(claim.namespace for claim in self.claims)

    def to_json(self) -> JsonObject:
        """Write what `telling` reads back."""
        return {
            "claims": [claim.to_json() for claim in self.claims],
            "pool": self.pool,
            "device": [*self.device] if self.device else [],
            "pods": [pod.to_json() for pod in self.pods],
            "facts": dict(self.facts),
        }
