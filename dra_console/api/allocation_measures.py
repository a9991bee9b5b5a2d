"""What allocation windows have done, for Prometheus; numbers only."""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from redis import RedisError

from dra_console.leases import held_among
from dra_console.mirror.models import Cluster
from dra_console.scheduling.allocating.counting import counted
from dra_console.scheduling.tasks import lease_name

COUNTED: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "rounds": ("allocation_rounds", "Rounds in which something was tried."),
        "seconds": ("allocation_round_seconds", "What those rounds took."),
        "planned": ("allocation_plans", "Pods and claims that were planned; again counts again."),
        "bound": ("allocation_pods_bound", "Pods that were bound."),
        "reserved": ("allocation_claims_reserved", "Claims that were reserved ahead."),
        "refused": ("allocation_refused", "Tries that did not fit, or ask for what there is not."),
        "waiting": ("allocation_waiting", "Plans that wait for devices to be prepared."),
        "dropped": ("allocation_dropped", "Plans that did not hold at the API server."),
        "failed": ("allocation_failed", "Plans that the API server failed to take."),
    }
)
"""Name and text of each counter."""


def allocation_measures(clusters: Sequence[Cluster], *, prefix: str) -> Iterator[Metric]:
    """Tell whether somebody allocates, and what was done; nothing while Redis does not tell."""
    try:
        held = held_among([lease_name(cluster.pk) for cluster in clusters])
        counts = counted(cluster.pk for cluster in clusters)
    except RedisError:
        return
    is_open = GaugeMetricFamily(
        f"{prefix}_allocation_window_open",
        "Whether a worker allocates for the cluster at this moment.",
        labels=("cluster",),
    )
    for cluster in clusters:
        is_open.add_metric((cluster.name,), float(lease_name(cluster.pk) in held))
    yield is_open
    for name, (metric, text) in COUNTED.items():
        counter = CounterMetricFamily(f"{prefix}_{metric}", text, labels=("cluster",))
        for cluster in clusters:
            if counts[cluster.pk]:
                counter.add_metric((cluster.name,), counts[cluster.pk].get(name, 0.0))
        yield counter
