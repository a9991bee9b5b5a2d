"""What the health's room counts, for Prometheus."""

from collections import Counter
from typing import Final

import prometheus_client

from nodeagent.health.report import HealthReport, Status

XIDS: Final = prometheus_client.Counter(
    "dra_nodeagent_xids_total", "Errors that the driver told of, by number", ["gpu", "xid"]
)
DEVICES: Final = prometheus_client.Gauge(
    "dra_nodeagent_devices", "Devices of the pool by their health", ["health"]
)
VITALS_AGE_SECONDS: Final = prometheus_client.Gauge(
    "dra_nodeagent_vitals_age_seconds", "Since the driver last told how its GPUs are"
)


def count_devices(report: HealthReport) -> None:
    """Show how many devices are in each state, zeros included."""
    counts = Counter(one.status for one in report.devices)
    for status in Status:
        DEVICES.labels(status.value.lower()).set(counts[status])
