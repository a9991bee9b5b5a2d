"""What the driver costs and how often it fails, for Prometheus."""

from typing import Final

import prometheus_client

CALL_SECONDS: Final = prometheus_client.Histogram(
    "dra_nodeagent_driver_call_seconds",
    "How long calls to the GPU driver took, the wait for their turn included",
    ["call"],
    buckets=(0.001, 0.005, 0.02, 0.1, 0.5, 1, 2, 5, 10, 20),
)
CALL_ERRORS: Final = prometheus_client.Counter(
    "dra_nodeagent_driver_errors_total", "Calls to the GPU driver that failed", ["call", "error"]
)
WORKERS_STARTED: Final = prometheus_client.Counter(
    "dra_nodeagent_driver_workers_started_total",
    "Processes that were started to speak to the GPU driver; more than one means trouble",
)
WORKERS_SILENT: Final = prometheus_client.Counter(
    "dra_nodeagent_driver_workers_silent_total",
    "Processes that were ended because the GPU driver did not answer them",
)
EVENTS: Final = prometheus_client.Counter(
    "dra_nodeagent_driver_events_total", "Events that the GPU driver told of", ["kind"]
)
