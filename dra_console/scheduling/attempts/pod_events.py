"""The events of one pod, asked of the API server: the mirror has none."""

from dra_console.kube.client import Client
from dra_console.kube.kinds import EVENTS
from dra_console.mirror.models import Pod
from dra_console.scheduling.attempts.cluster_reason import Said, failures_in

EVENTS_READ = 20
"""The newest; API servers keep events for an hour by default, and fold repetitions."""


def failed_scheduling_of(pod: Pod, *, client: Client) -> tuple[Said, ...]:
    """List what schedulers said of a pod that they did not place, newest first.

    Raises:
        ApiError: the API server does not answer, or the client may not list events.

    """
    selector = f"involvedObject.uid={pod.uid},reason=FailedScheduling"
    events = client.list(EVENTS, namespace=pod.namespace, field_selector=selector).items
    return failures_in(events)[:EVENTS_READ]
