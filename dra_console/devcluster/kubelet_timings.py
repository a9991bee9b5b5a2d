"""How long a kubelet waits for what; the defaults are Kubernetes' own."""

from dataclasses import dataclass, field

from dra_console.devcluster.workqueue import BackOff


@dataclass(frozen=True, slots=True)
class Timings:
    """One set for all kubelets of a cluster; tests shorten what they wait for."""

    registry_poll_seconds: float = 0.2
    """A real kubelet is told by inotify; reading a directory of a few entries is as good."""

    dial_seconds: float = 10
    get_info_seconds: float = 1
    notify_seconds: float = 5
    call_seconds: float = 45
    """For one prepare or unprepare call to a driver."""

    slice_wipe_seconds: float = 30
    """From losing a driver's last connection to deleting its slices of the node."""

    registration_back_off: BackOff = field(default=BackOff(first_seconds=0.5, most_seconds=120))
    pod_back_off: BackOff = field(default=BackOff(first_seconds=1, most_seconds=60))
    restart_back_off: BackOff = field(default=BackOff(first_seconds=10, most_seconds=300))
    """Between two runs of a container that ended."""

    heartbeat_seconds: float = 300
    """Between two writes of a node status in which nothing changed."""

    token_seconds: int = 3607
    """Life of a projected token; kubelet asks for an hour and seven seconds."""
