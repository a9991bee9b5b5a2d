"""Figures of the publication, for Prometheus."""

from typing import Final

from prometheus_client import Counter, Gauge

from nodeagent.kube.errors import (
    ConflictError,
    ForbiddenError,
    InvalidError,
    KubeError,
    StatusError,
    UnreachableError,
)
from nodeagent.publish.features import Feature

TOO_MANY_REQUESTS: Final = 429
REASONS: Final[dict[type[Exception], str]] = {
    ConflictError: "conflict",
    ForbiddenError: "forbidden",
    InvalidError: "invalid",
    UnreachableError: "unreachable",
    KubeError: "server",
}
"""The first that fits counts; what is none of these could not be read."""

WRITES: Final = Counter(
    "dra_nodeagent_slice_writes", "Writes of ResourceSlices that succeeded", ["operation"]
)
FAILURES: Final = Counter(
    "dra_nodeagent_slice_failures", "Requests about ResourceSlices that failed", ["reason"]
)
GENERATION: Final = Gauge("dra_nodeagent_pool_generation", "Newest generation of the node's pool")
DEVICES: Final = Gauge("dra_nodeagent_pool_devices", "Devices in the node's pool as published")
REFUSED: Final = Gauge(
    "dra_nodeagent_pool_refused", "1 while the API server refuses the pool as the node wants it"
)
DROPPED: Final = Gauge(
    "dra_nodeagent_feature_dropped", "1 while the API server drops fields of a feature", ["feature"]
)


def note_failure(error: Exception) -> None:
    """Count a request that failed, by reason."""
    FAILURES.labels(_reason(error)).inc()


def note_feature(feature: Feature, *, kept: bool) -> None:
    """Say whether a feature's fields are dropped."""
    DROPPED.labels(feature.name.lower()).set(not kept)


def _reason(error: Exception) -> str:
    if isinstance(error, StatusError) and error.status == TOO_MANY_REQUESTS:
        return "throttled"
    for kind, reason in REASONS.items():
        if isinstance(error, kind):
            return reason
    return "answer"
