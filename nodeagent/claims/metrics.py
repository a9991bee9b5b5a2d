"""What the claims' room counts, for Prometheus.

A lock that many wait for, and entries that only grow, were the first signs of trouble on other
people's nodes (node-agent.md 8, faults 12 and 30).
"""

import time
from collections import Counter
from collections.abc import Iterable
from typing import Final

import prometheus_client

from nodeagent.claims.entry import Entry, State

LOCK_WAIT_SECONDS: Final = prometheus_client.Histogram(
    "dra_nodeagent_lock_wait_seconds",
    "How long calls waited for the node's lock",
    buckets=(0.01, 0.05, 0.1, 0.5, 1, 2, 5, 10),
)
LOCK_TIMEOUTS: Final = prometheus_client.Counter(
    "dra_nodeagent_lock_timeouts_total", "Calls that gave up waiting for the node's lock"
)
CALL_SECONDS: Final = prometheus_client.Histogram(
    "dra_nodeagent_claim_seconds",
    "How long one claim took, the wait for the lock included",
    ["verb", "outcome"],
    buckets=(0.01, 0.05, 0.1, 0.5, 1, 2, 5, 10, 20, 40),
)
REFUSALS: Final = prometheus_client.Counter(
    "dra_nodeagent_claims_refused_total", "Claims that were not prepared when kubelet asked"
)
ENTRIES: Final = prometheus_client.Gauge(
    "dra_nodeagent_claims", "Claims in the checkpoint by state", ["state"]
)
UNREADABLE: Final = prometheus_client.Gauge(
    "dra_nodeagent_claims_unreadable", "Entries of the checkpoint that were set aside"
)


def count_call(verb: str, *, began: float, is_done: bool) -> None:
    """Count a call about one claim that began at a reading of the monotonic clock."""
    outcome = "done" if is_done else "refused"
    CALL_SECONDS.labels(verb, outcome).observe(time.monotonic() - began)


def count_entries(entries: Iterable[Entry], *, unreadable: int) -> None:
    """Show how many claims there are in each state, zeros included."""
    counts = Counter(entry.state for entry in entries)
    for state in State:
        ENTRIES.labels(state.value).set(counts[state])
    UNREADABLE.set(unreadable)
